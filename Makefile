# rfprof: `make` builds build/rfprof, `make check` tests it, `make demo` shows it.
B ?= build
CC ?= cc
CFLAGS ?= -O2 -g
WARN = -std=c11 -Wall -Wextra -Wshadow -Wconversion $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -Iinclude -Ilib
LDLIBS = -lunwind-x86_64 -lunwind -ldw -lelf -lm

LIB_C := $(wildcard lib/*.c lib/*/*.c)
LIB_O := $(LIB_C:%.c=$(B)/%.o)
CLI_O := $(patsubst %.c,$(B)/%.o,$(wildcard rfprof/*.c))

all: $(B)/rfprof
$(B)/rfprof: $(CLI_O) $(B)/librfprof.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(B)/librfprof.a: $(LIB_O)
	rm -f $@ && $(AR) rcs $@ $^
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) -MMD -MP -c -o $@ $<
-include $(LIB_O:.o=.d) $(CLI_O:.o=.d)
clean:
	rm -rf $(B)
.PHONY: all clean

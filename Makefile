# rfprof: `make` builds build/rfprof, `make check` tests it, `make demo` shows it.
B ?= build
CC ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
WARN = -std=c11 -Wall -Wextra -Wshadow -Wconversion $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -Iinclude -Ilib
LDLIBS = -lunwind-x86_64 -lunwind -ldw -lelf -llzma -lz -lm
# CAPSTONE=0: without the disassembler. Known builds then use the slot maps that ship, others need debug information.
CAPSTONE ?= 1
ifneq ($(CAPSTONE),0)
CPPFLAGS += -DRF_CAPSTONE
LDLIBS += -lcapstone
endif
# JANSSON=0: without JSON output: no format speedscope, no dump -j.
JANSSON ?= 1
ifneq ($(JANSSON),0)
CPPFLAGS += -DRF_JANSSON
LDLIBS += -ljansson
else
NOT_BUILT += lib/report/speedscope.c tests/unit/speedscope.c
endif
# NCURSES=0: without a screen; top then only has --batch.
NCURSES ?= 1
# PPROF=0: without protobuf-c. There is then no format pprof, and no command report.
PPROF ?= 1
PPROF_C = lib/report/foreign.c lib/report/gzip.c lib/report/pprof.c lib/report/redact.c lib/report/save.c \
	lib/report/saved.c rfprof/report.c
ifneq ($(PPROF),0)
CPPFLAGS += -DRF_PPROF -I$(B)/gen
LDLIBS += -lprotobuf-c
PPROF_O := $(B)/gen/report/profile.pb-c.o
else
NOT_BUILT += $(PPROF_C) tests/unit/saved.c
endif
# of two files that do the same, the one that is not meant
NOT_BUILT += rfprof/top_$(if $(NCURSES:0=),noscreen,screen).c
SANITIZE = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

# Debian packages: what building and the demo need, and what tests need besides.
DEPS = gcc make libc6-dev libdw-dev libelf-dev liblzma-dev libunwind-dev libcapstone-dev libjansson-dev \
	libncurses-dev uthash-dev protobuf-c-compiler libprotobuf-c-dev zlib1g-dev python3 python3-pip procps
TEST_DEPS = libcmocka-dev gdb mold tmux

LIB_O := $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(NOT_BUILT),$(wildcard lib/*.c lib/*/*.c))) \
	$(B)/catalog.o $(B)/svg-files.o $(PPROF_O)
CLI_O := $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(NOT_BUILT),$(wildcard rfprof/*.c)))
CLI_LIBS = $(if $(NCURSES:0=),-lncursesw)
UNITS := $(patsubst %.c,$(B)/%,$(filter-out $(NOT_BUILT),$(wildcard tests/unit/*.c)))
FIXTURES := $(patsubst %.c,$(B)/%,$(wildcard fixtures/*.c))
SHELL_TESTS := $(filter-out tests/lib.sh,$(wildcard tests/*.sh))

all: $(B)/rfprof

$(B)/rfprof: $(CLI_O) $(B)/librfprof.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(CLI_LIBS)
$(B)/librfprof.a: $(LIB_O)
	rm -f $@ && $(AR) rcs $@ $^
# The catalog of layouts: each text file becomes a string.
CATALOG := $(sort $(wildcard lib/layout/catalog/*.layout))
SLOTS := $(sort $(wildcard lib/layout/catalog/*.slots))
STRINGS = for f in $(1); do sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $$f; echo ,; done; echo 'NULL};'
$(B)/catalog.c: $(CATALOG) $(SLOTS) Makefile
	@mkdir -p $(@D)
	{ echo '#include "layout/layout.h"'; echo '#include "slots/slots.h"'; \
	echo 'const char *const rf_catalog[] = {'; $(call STRINGS,$(CATALOG)); \
	echo 'const char *const rf_slots_catalog[] = {'; $(call STRINGS,$(SLOTS)); } >$@
$(B)/gen/report/profile.pb-c.c: lib/report/profile.proto
	@mkdir -p $(@D)
	protoc-c --c_out=$(B)/gen -Ilib report/profile.proto
$(PPROF_O): $(B)/gen/report/profile.pb-c.c
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) -MMD -MP -c -o $@ $<
# Later the dependency files say so, too.
$(patsubst %.c,$(B)/obj/%.o,$(PPROF_C)): | $(B)/gen/report/profile.pb-c.c
# What the flame graph is made of: likewise.
SVG := lib/report/svg.css lib/report/svg.js
$(B)/svg-files.c: $(SVG) Makefile
	@mkdir -p $(@D)
	{ echo '#include "report/svg.h"'; for f in $(SVG); do echo "const char rf_svg_$${f##*.}[] ="; \
	sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $$f; echo ';'; done; } >$@
$(B)/catalog.o $(B)/svg-files.o: $(B)/%.o: $(B)/%.c
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/unit/%: tests/unit/%.c $(B)/librfprof.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(B)/librfprof.a -lcmocka $(LDLIBS)

# A fixture that needs flags of its own says so in fixtures/flags.mk:
#   $(B)/fixtures/NAME: FIXTURE_FLAGS = -fno-omit-frame-pointer
# (a variable of its own, since target-specific variables also reach the prerequisites).
-include fixtures/flags.mk
$(B)/fixtures/%: fixtures/%.c $(B)/librfprof.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) $(FIXTURE_FLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -pthread -o $@ $< \
		-Wl,--as-needed $(B)/librfprof.a $(LDLIBS) $(FIXTURE_LIBS)

-include $(LIB_O:.o=.d) $(CLI_O:.o=.d) $(UNITS:=.d) $(FIXTURES:=.d) $(ORACLES:=.d)

units: $(UNITS)
fixtures: $(FIXTURES)

check:
	$(MAKE) -s deps ALSO='$(TEST_DEPS)'
	$(MAKE) WERROR=1 all units fixtures
	B=$(abspath $(B)) RFPROF=$(abspath $(B))/rfprof tests/run $(UNITS) $(SHELL_TESTS)

# The unit tests once more, with the library under the sanitizers; fixtures stay as they are.
asan: all fixtures
	$(MAKE) B=$(B)/asan CFLAGS='$(SANITIZE)' all units
	B=$(abspath $(B)) RFPROF=$(abspath $(B))/asan/rfprof tests/run $(patsubst $(B)/%,$(B)/asan/%,$(UNITS))

bench: all fixtures
	B=$(abspath $(B)) RFPROF=$(abspath $(B))/rfprof bench/run

# The decoder against what the interpreter does next, on real releases. Slow: not part of check.
ORACLES := $(B)/tests/oracle/oracle $(B)/tests/oracle/treewalk
$(ORACLES): $(B)/tests/oracle/%: tests/oracle/%.c tests/oracle/tracee.c $(B)/librfprof.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< tests/oracle/tracee.c $(B)/librfprof.a $(LDLIBS)
oracle: $(ORACLES)
	B=$(abspath $(B)) tests/oracle/run

# Opens files in the programs that they are for: go tool pprof, where there is Go; Chromium and, where there
# is npm, speedscope, with screenshots in $(B)/viewers to look at. Some hundred megabytes of packages, and a minute: not part of check.
viewers:
	$(MAKE) -s deps ALSO='chromium chromium-driver fonts-dejavu-core'
	$(MAKE) all fixtures
	B=$(abspath $(B)) RFPROF=$(abspath $(B))/rfprof tests/viewers/run

demo: deps
	$(MAKE) all fixtures
	@B=$(abspath $(B)) RFPROF=$(abspath $(B))/rfprof demo/run

# Installs what is missing, and only that, so that it needs neither network nor root when nothing is. ALSO: more
# packages.
deps:
	@command -v dpkg-query >/dev/null || { echo "not Debian: install what corresponds to: $(DEPS) $(ALSO)"; exit 0; }; \
	missing=; for p in $(DEPS) $(ALSO); do \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	[ -z "$$missing" ] || { echo "installing:$$missing"; [ "$$(id -u)" = 0 ] || sudo=sudo; \
		$$sudo env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update -q && \
			apt-get install -q -y --no-install-recommends $$missing" </dev/null >/dev/null; }

# Where shells look for completions. zsh has one folder for what distributions ship, and one for what is local.
BASH_DIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_DIR = $(DESTDIR)$(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
FISH_DIR = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
DOC_DIR = $(DESTDIR)$(PREFIX)/share/doc/rfprof
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/rfprof $(BASH_DIR) $(ZSH_DIR) $(FISH_DIR) $(DOC_DIR)
	install -m 755 $(B)/rfprof $(DESTDIR)$(PREFIX)/bin/rfprof
	install -m 644 include/rfprof_span.h $(DESTDIR)$(PREFIX)/include/rfprof_span.h
	install -m 644 man/rfprof.1 $(DESTDIR)$(PREFIX)/share/man/man1/rfprof.1
	sed 's|/usr/local|$(PREFIX)|g' share/rfprof.rfl >$(DESTDIR)$(PREFIX)/share/rfprof/rfprof.rfl
	$(B)/rfprof completion bash >$(BASH_DIR)/rfprof
	$(B)/rfprof completion zsh >$(ZSH_DIR)/_rfprof
	$(B)/rfprof completion fish >$(FISH_DIR)/rfprof.fish
	install -m 644 README.md $(DOC_DIR)/README.md
	install -m 644 LICENSE $(DOC_DIR)/copyright

lint:
	mandoc -T lint -W warning man/rfprof.1
	clang-format --dry-run --Werror $(shell git ls-files '*.c' '*.h')

clean:
	rm -rf $(B)

.PHONY: all units fixtures check asan bench oracle viewers demo deps install lint clean
.DELETE_ON_ERROR:

/* account.h: the account of a session, closed. */
#ifndef RF_ACCOUNT_H
#define RF_ACCOUNT_H

#include "profile/profile.h"

/* Names the dearest parts of what is explained by no Rayfall line: a->runtime and a->unknown, out of the profile. */
void rf_account_name(struct rf_account *a, const struct rf_profile *p);

#endif

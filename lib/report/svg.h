/* svg.h: what the flame graph is made of besides the profile. The Makefile makes strings of the files. */
#ifndef RF_SVG_H
#define RF_SVG_H

extern const char rf_svg_css[]; /* svg.css */
extern const char rf_svg_js[];  /* svg.js */

#endif

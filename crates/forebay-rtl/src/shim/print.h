// SPDX-License-Identifier: Apache-2.0
// Included before Verilator's run-time sources: what a design prints goes to the shim.
#pragma once
extern "C" __attribute__((format(printf, 1, 2))) void fb_print(const char* format, ...);
#define VL_PRINTF fb_print
#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL

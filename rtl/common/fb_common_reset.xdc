# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
#
# The reset arrives at any time. The chain of flip-flops behind it sees to the rest. Read with
# `read_xdc -ref fb_common_reset`.

set_false_path \
    -to [get_pins -of_objects [get_cells {stages_q_reg[*]}] -filter {REF_PIN_NAME == PRE}]

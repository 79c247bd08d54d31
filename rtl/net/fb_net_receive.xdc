# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
#
# Whether whole frames are wanted is asked and answered through two flip-flops each way. Read with
# `read_xdc -ref fb_net_receive`.

set core [get_property -min PERIOD [get_clocks -of_objects [get_ports clk]]]
set mac [get_property -min PERIOD [get_clocks -of_objects [get_ports clk_mac]]]
set_max_delay -datapath_only -from [get_cells {ask_q_reg}] -to [get_cells {whole_meta_q_reg}] $mac
set_max_delay -datapath_only -from [get_cells {answer_q_reg}] \
    -to [get_cells {taking_meta_q_reg}] $core

# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
#
# A counter in Gray code crosses from s_clk to m_clk. All its bits arrive within a period of s_clk,
# so that no two changes are on their way at once. Read with `read_xdc -ref fb_common_gray_sync`.

set period [get_property -min PERIOD [get_clocks -of_objects [get_ports s_clk]]]
set sent [get_cells {gray_q_reg[*]}]
set seen [get_cells {meta_q_reg[*]}]
set_max_delay -datapath_only -from $sent -to $seen $period
set_bus_skew -from $sent -to $seen $period

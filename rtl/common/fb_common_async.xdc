# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
#
# A word stands in the LUT RAM for two cycles of m_clk before it is read: fb_common_gray_sync carries the
# pointer. So it has a period of m_clk to leave. Read with `read_xdc -ref fb_common_async`.

set period [get_property -min PERIOD [get_clocks -of_objects [get_ports m_clk]]]
set_max_delay -datapath_only -from [get_cells {store_reg*}] $period

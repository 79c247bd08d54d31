# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
#
# What is known of a frame stands in its memory, which may be LUT RAM, for two cycles of m_clk before it is
# read: fb_common_async carries the frame's length. So it has a period of m_clk to leave. Read with
# `read_xdc -ref fb_net_frame_fifo`.

set period [get_property -min PERIOD [get_clocks -of_objects [get_ports m_clk]]]
set_max_delay -datapath_only -from [get_cells {infos_reg*}] $period

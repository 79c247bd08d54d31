# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
#
# Settings are written only while nothing is received or sent: they stand long before clk_tx looks
# at them. Read with `read_xdc -ref fb_net_port`.

set_false_path -from [get_cells {u_csr/field_storage_reg*}] \
    -to [get_clocks -of_objects [get_ports clk_tx]]

# Whether the receive clock is still in reset is seen through two flip-flops.
set_false_path -to [get_cells {mac_meta_q_reg}]
set_false_path -to [get_cells {core_meta_q_reg}]

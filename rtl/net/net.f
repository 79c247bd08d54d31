-f rtl/common/common.f
-f rtl/axis/axis.f
rtl/net/fb_net_drop.sv
rtl/net/fb_net_sum.sv
rtl/net/fb_net_pkg.sv
rtl/net/fb_net_parse.sv
rtl/net/fb_net_filter.sv
rtl/net/fb_net_strip.sv
rtl/net/fb_net_gather.sv
rtl/net/fb_net_sequence.sv
rtl/net/fb_net_packets.sv
rtl/net/fb_net_pack.sv
rtl/net/fb_net_receive.sv
rtl/net/fb_net_quanta.sv
rtl/net/fb_net_pause_in.sv
rtl/net/fb_net_pause_out.sv
rtl/net/fb_net_echo.sv
rtl/net/fb_net_transmit.sv
rtl/net/fb_net_send.sv
rtl/net/fb_net_tally.sv
rtl/net/fb_net_count.sv
rtl/net/fb_net_csr_pkg.sv
rtl/net/fb_net_csr.sv
rtl/net/fb_net_port.sv

-f rtl/common/common.f
-f rtl/axis/axis.f
rtl/net/fb_net_frame_fifo.sv
rtl/net/fb_net_checksum.sv
rtl/net/fb_net_pkg.sv
rtl/net/fb_net_mac_rx.sv
rtl/net/fb_net_clock.sv
rtl/net/fb_net_parse.sv
rtl/net/fb_net_filter.sv
rtl/net/fb_net_decap.sv
rtl/net/fb_net_ring_ram.sv
rtl/net/fb_net_stream_scheduler.sv
rtl/net/fb_net_reassembly.sv
rtl/net/fb_net_packets.sv
rtl/net/fb_net_realign.sv
rtl/net/fb_net_receive.sv
rtl/net/fb_net_pause_timer.sv
rtl/net/fb_net_pause_watchdog.sv
rtl/net/fb_net_pause_in.sv
rtl/net/fb_net_pause_out.sv
rtl/net/fb_net_arp_icmp.sv
rtl/net/fb_net_tx_mux.sv
rtl/net/fb_net_send.sv
rtl/net/fb_net_statistics.sv
rtl/net/fb_net_count_cdc.sv
rtl/net/fb_net_csr_pkg.sv
rtl/net/fb_net_csr.sv
rtl/net/fb_net_port.sv

-f rtl/top/onchip.f
-f rtl/axis/host.f
rtl/top/fb_top_host.sv
rtl/top/fb_top_dram.sv
rtl/top/fb_top_host_dram.sv
rtl/top/fb_top_hostdram.sv
rtl/top/fb_top_snacc_dram.sv
rtl/top/fb_top_host_hostdram.sv
-f rtl/pe/pe.f
-f rtl/dnn/dnn.f
-f rtl/top/front.f
rtl/top/fb_top_net.sv
rtl/top/fb_top_net_dram.sv
rtl/top/fb_top_net_hostdram.sv
-f rtl/top/boot.f
-f rtl/top/recorder.f

-f rtl/top/dram.f
rtl/top/fb_top_hostdram.sv
rtl/top/fb_top_snacc_dram.sv

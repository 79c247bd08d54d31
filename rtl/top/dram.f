-f rtl/axis/axis.f
-f rtl/axi/axi.f
-f rtl/payload/payload.f
-f rtl/bar/bar.f
-f rtl/nvme/nvme.f
rtl/top/fb_top_dram.sv

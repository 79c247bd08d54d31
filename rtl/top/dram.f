-f rtl/common/common.f
-f rtl/axis/axis.f
-f rtl/axi/axi.f
-f rtl/buffer/buffer.f
-f rtl/bar/bar.f
-f rtl/nvme/nvme.f
-f rtl/axi/axi.f
rtl/top/fb_top_dram.sv

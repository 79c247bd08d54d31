-f rtl/common/common.f
-f rtl/axi/axi.f
rtl/buffer/fb_buffer_bursts.sv
rtl/buffer/fb_buffer_stream.sv

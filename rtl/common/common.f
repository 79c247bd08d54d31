rtl/common/fb_spec_pkg.sv
rtl/common/fb_common_fifo.sv
rtl/common/fb_common_deep.sv
rtl/common/fb_common_ram.sv
rtl/common/fb_common_burst.sv
rtl/common/fb_common_gray.sv
rtl/common/fb_common_async.sv
rtl/common/fb_common_skid.sv

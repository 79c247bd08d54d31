rtl/common/fb_spec_pkg.sv
rtl/common/fb_common_fifo.sv
rtl/common/fb_common_fifo_bram.sv
rtl/common/fb_common_lutram.sv
rtl/common/fb_common_gray_sync.sv
rtl/common/fb_common_async.sv
rtl/common/fb_common_skid.sv
rtl/common/fb_common_reset.sv

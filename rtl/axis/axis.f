-f rtl/common/common.f
rtl/axis/fb_axis_if.sv
rtl/axis/fb_axis_check.sv
rtl/axis/fb_axis_arbiter.sv
rtl/axis/fb_axis_narrow.sv
rtl/axis/fb_axis_widen.sv

rtl/axis/fb_axis_check.sv

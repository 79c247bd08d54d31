rtl/buffer/fb_buffer_onchip.sv
rtl/buffer/fb_buffer_port.sv
rtl/buffer/fb_buffer_window.sv
rtl/buffer/fb_buffer_ring.sv
rtl/buffer/fb_buffer_rings.sv

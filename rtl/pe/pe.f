-f rtl/pe/elements.f
rtl/pe/fb_pe_chain.sv

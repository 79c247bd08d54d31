-f rtl/pe/elements.f
rtl/dnn/fb_dnn_pkg.sv
rtl/dnn/fb_dnn_pnm.sv
rtl/dnn/fb_dnn_geometry.sv
rtl/dnn/fb_dnn_bytes.sv
rtl/dnn/fb_dnn_walk.sv
rtl/dnn/fb_dnn_columns.sv
rtl/dnn/fb_dnn_lines.sv
rtl/dnn/fb_dnn_mean.sv
rtl/dnn/fb_dnn_rows.sv
rtl/dnn/fb_dnn_shrink.sv
rtl/pe/fb_pe_shrink.sv

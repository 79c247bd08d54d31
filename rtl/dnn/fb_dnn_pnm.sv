// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_pnm: the next byte of the header of a PGM or PPM file.
//
// What:        binary files (P5, P6) with a maximum of 255; comments are passed over. `next.done` with
//              the header's last byte; `next.bad` where it is none, has numbers of more than 14 bits
//              or is longer than 256 bytes.
// Latency:     none; no clock. `now` is `next` of the byte before, and all zero for the first byte.
// Does not implement: text (P1 to P3), bitmaps, two bytes a sample, PAM.

`default_nettype none

module fb_dnn_pnm
  import fb_dnn_pkg::*;
(
    input  wire header_t       now,
    input  wire          [7:0] octet,
    output header_t            next
);

  logic space, digit, hash;
  assign space = octet == " " || (octet >= 8'h09 && octet <= 8'h0d);
  assign digit = octet >= "0" && octet <= "9";
  assign hash  = octet == "#";

  always_comb begin : step
    next = now;
    next.bytes = now.bytes + 1'b1;
    if (now.comment) next.comment = octet != 8'h0a && octet != 8'h0d;
    else begin
      unique case (now.field)
        FIELD_P: begin
          next.field = FIELD_KIND;
          next.bad   = octet != "P";
        end
        FIELD_KIND: begin
          next.field = FIELD_GAP;
          next.grey  = octet == "5";
          next.bad   = octet != "5" && octet != "6";
        end
        FIELD_GAP: begin
          next.field = FIELD_WIDTH;
          next.comment = hash;
          next.bad = !space && !hash;
        end
        default: begin
          if (digit) begin
            next.digits = 1'b1;
            next.value = side_t'(now.value * 14'd10 + side_t'(octet[3:0]));
            next.bad = now.value > 14'd1638 || (now.value == 14'd1638 && octet[3:0] > 4'd3);
          end else if (!now.digits) begin
            next.comment = hash;
            next.bad = !space && !hash;
          end else begin
            next.digits = 1'b0;
            next.value  = '0;
            if (now.field == FIELD_WIDTH) begin
              next.width = now.value;
              next.field = FIELD_HEIGHT;
            end else if (now.field == FIELD_HEIGHT) begin
              next.height = now.value;
              next.field  = FIELD_MAXIMUM;
            end else next.done = 1'b1;
            next.comment = hash;
            // One space and no comment stands between the maximum and the pixels.
            next.bad = (!space && !hash) ||
                (now.field == FIELD_MAXIMUM && (hash || now.value != 14'd255));
          end
        end
      endcase
    end
    if (now.bytes == ($clog2(HEADER_BYTES) + 1)'(HEADER_BYTES)) next.bad = 1'b1;
  end

endmodule

`default_nettype wire

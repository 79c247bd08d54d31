// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_geometry: what follows from the width and height of an image.
//
// What:        divides, a bit a cycle: width and height by Size, and a power of two by their product.
// Handshake:   `start` for a cycle, with width, height and grey, which stay; `done` for a cycle, from
//              which on `geometry` stands until the next start.
// Latency:     51 cycles, and one for each bit that the area has less than 28.
// Limits:      width and height are Size or more.
// Does not implement: sides below Size.

`default_nettype none

module fb_dnn_geometry
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224  // pixels of a side of the small image, 32 to 256
) (
    input wire clk,
    input wire rst,

    input wire start,
    input wire side_t width,
    input wire side_t height,
    input wire grey,

    output logic done,
    output geometry_t geometry
);

  localparam int unsigned AreaBits = 2 * SIDE_BITS;
  localparam logic [UNIT_BITS-1:0] Units = UNIT_BITS'(Size);

  typedef enum logic [2:0] {
    IDLE,
    WIDTH,
    STEPS,
    HEIGHT,
    NORMALISE,
    RECIPROCAL,
    ROUND
  } state_e;
  state_e state_q;

  // The division: the dividend comes in from the top, the quotient from below.
  logic [AreaBits:0] rest_q, less;
  logic [AreaBits-1:0] divisor_q, area_q;
  logic [17:0] value_q;  // of the dividend what is left, of the quotient what is there
  logic [4:0] count_q;
  logic [AreaBits:0] rest;
  logic fits, last;
  assign rest = {rest_q[AreaBits-1:0], value_q[17]};
  assign fits = rest >= {1'b0, divisor_q};
  assign less = rest - (fits ? {1'b0, divisor_q} : '0);
  assign last = count_q == 5'd1;

  // A step added to a step.
  function automatic boundary_t sum(input boundary_t a, input boundary_t b);
    logic [UNIT_BITS:0] units;
    logic carry;
    units = {1'b0, a.units} + {1'b0, b.units};
    carry = units >= {1'b0, Units};
    sum.units = carry ? UNIT_BITS'(units - {1'b0, Units}) : units[UNIT_BITS-1:0];
    sum.pixel = a.pixel + b.pixel + (SIDE_BITS + 1)'(carry);
  endfunction

  // The first boundary lies one step behind the beginning.
  function automatic boundary_t first(input boundary_t step);
    first = step.units != '0 ? step : '{step.pixel - 1'b1, Units};
  endfunction

  boundary_t quotient, made;  // made: the step before this one
  logic [SIDE_BITS:0] group;
  logic [5:0] most;
  assign quotient = '{{1'b0, value_q[SIDE_BITS-2:0], fits}, less[UNIT_BITS-1:0]};
  assign made = geometry.steps.columns[3'(count_q-1'b1)];
  assign group = geometry.steps.columns[LANES].pixel;
  assign most = grey ? 6'(GROUP_BYTES) : 6'(GROUP_BYTES / 3);

  always_ff @(posedge clk) begin : divide
    done <= 1'b0;
    if (state_q inside {WIDTH, HEIGHT, RECIPROCAL}) begin
      rest_q  <= less;
      value_q <= {value_q[16:0], fits};
      count_q <= count_q - 1'b1;
    end
    unique case (state_q)
      IDLE:
      if (start) begin
        state_q <= WIDTH;
        area_q <= AreaBits'(width) * AreaBits'(height);
        divisor_q <= AreaBits'(Units);
        rest_q <= '0;
        value_q <= {width, 4'd0};
        count_q <= 5'(SIDE_BITS);
      end
      WIDTH:
      if (last) begin
        state_q <= STEPS;
        geometry.steps.columns[1] <= quotient;
        geometry.steps.column_first <= first(quotient);
        count_q <= 5'd2;
      end
      STEPS: begin
        count_q <= count_q + 1'b1;
        geometry.steps.columns[3'(count_q)] <= sum(made, geometry.steps.columns[1]);
        if (count_q == 5'(LANES)) begin
          state_q <= HEIGHT;
          rest_q  <= '0;
          value_q <= {height, 4'd0};
          count_q <= 5'(SIDE_BITS);
        end
      end
      HEIGHT: begin
        // No more than LANES boundaries lie in as many pixels as that many steps have whole ones.
        geometry.group <= group < (SIDE_BITS + 1)'(most) ? group[5:0] : most;
        if (last) begin
          state_q <= NORMALISE;
          geometry.steps.line <= quotient;
          geometry.line_first <= first(quotient);
          divisor_q <= area_q;
          count_q <= 5'd0;
        end
      end
      NORMALISE: begin
        // The area's highest bit comes to the top, and is counted.
        divisor_q <= divisor_q << 1;
        count_q   <= count_q + 1'b1;
        if (divisor_q[AreaBits-1]) begin
          state_q <= RECIPROCAL;
          geometry.scale.area_bits <= 5'(AreaBits - 11) - count_q;
          divisor_q <= divisor_q;
          rest_q <= (AreaBits + 1)'(1) << (AreaBits - 2);
          value_q <= '0;
          count_q <= 5'd18;
        end
      end
      RECIPROCAL: if (last) state_q <= ROUND;
      default: begin
        state_q <= IDLE;
        done <= 1'b1;
        // At most 2^17 - 1: of an area that is a power of two it would be 2^17.
        geometry.scale.reciprocal <= value_q[17] ? '1 :
            (rest_q << 1) >= {1'b0, divisor_q} && value_q[16:0] != '1 ? value_q[16:0] + 1'b1 :
            value_q[16:0];
      end
    endcase
    if (rst) begin
      state_q <= IDLE;
      done <= 1'b0;
    end
  end

endmodule

`default_nettype wire

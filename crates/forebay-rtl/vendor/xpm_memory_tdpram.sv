// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stand-in for the vendor primitive `xpm_memory_tdpram`, so that third-party IP which instantiates
// it can be simulated without the vendor's library. True dual port, one clock (clka), byte enables,
// write mode no_change (a port that writes keeps its output), read latency 1..64 cycles.
// Does not implement: two clocks, ECC, sleep, initial content, resets of the output registers.
// The output pipeline is a ring of words rather than a shift register: shifting 512-bit words
// through eight stages would cost more time than the rest of a streamer.
`default_nettype none

module xpm_memory_tdpram #(
    parameter ADDR_WIDTH_A = 6,
    parameter ADDR_WIDTH_B = 6,
    parameter AUTO_SLEEP_TIME = 0,
    parameter BYTE_WRITE_WIDTH_A = 8,
    parameter BYTE_WRITE_WIDTH_B = 8,
    parameter CASCADE_HEIGHT = 0,
    parameter CLOCKING_MODE = "common_clock",
    parameter ECC_MODE = "no_ecc",
    parameter MEMORY_INIT_FILE = "none",
    parameter MEMORY_INIT_PARAM = "",
    parameter MEMORY_OPTIMIZATION = "true",
    parameter MEMORY_PRIMITIVE = "auto",
    parameter MEMORY_SIZE = 2048,
    parameter MESSAGE_CONTROL = 0,
    parameter READ_DATA_WIDTH_A = 32,
    parameter READ_DATA_WIDTH_B = 32,
    parameter READ_LATENCY_A = 2,
    parameter READ_LATENCY_B = 2,
    parameter READ_RESET_VALUE_A = "0",
    parameter READ_RESET_VALUE_B = "0",
    parameter RST_MODE_A = "SYNC",
    parameter RST_MODE_B = "SYNC",
    parameter SIM_ASSERT_CHK = 0,
    parameter USE_EMBEDDED_CONSTRAINT = 0,
    parameter USE_MEM_INIT = 0,
    parameter WAKEUP_TIME = "disable_sleep",
    parameter WRITE_DATA_WIDTH_A = 32,
    parameter WRITE_DATA_WIDTH_B = 32,
    parameter WRITE_MODE_A = "no_change",
    parameter WRITE_MODE_B = "no_change"
) (
    input wire clka,
    input wire clkb,
    input wire sleep,
    input wire rsta,
    input wire ena,
    input wire regcea,
    input wire [WRITE_DATA_WIDTH_A/BYTE_WRITE_WIDTH_A-1:0] wea,
    input wire [ADDR_WIDTH_A-1:0] addra,
    input wire [WRITE_DATA_WIDTH_A-1:0] dina,
    input wire injectsbiterra,
    input wire injectdbiterra,
    output wire [READ_DATA_WIDTH_A-1:0] douta,
    output wire sbiterra,
    output wire dbiterra,
    input wire rstb,
    input wire enb,
    input wire regceb,
    input wire [WRITE_DATA_WIDTH_B/BYTE_WRITE_WIDTH_B-1:0] web,
    input wire [ADDR_WIDTH_B-1:0] addrb,
    input wire [WRITE_DATA_WIDTH_B-1:0] dinb,
    input wire injectsbiterrb,
    input wire injectdbiterrb,
    output wire [READ_DATA_WIDTH_B-1:0] doutb,
    output wire sbiterrb,
    output wire dbiterrb
);

  localparam DEPTH = MEMORY_SIZE / WRITE_DATA_WIDTH_A;
  localparam LANES = WRITE_DATA_WIDTH_A / BYTE_WRITE_WIDTH_A;
  localparam LANE = BYTE_WRITE_WIDTH_A;

  initial begin
    if (WRITE_DATA_WIDTH_A != WRITE_DATA_WIDTH_B || WRITE_DATA_WIDTH_A != READ_DATA_WIDTH_A ||
        WRITE_DATA_WIDTH_A != READ_DATA_WIDTH_B || BYTE_WRITE_WIDTH_A != BYTE_WRITE_WIDTH_B)
      $fatal(1, "xpm_memory_tdpram (%m): this stand-in needs equal widths on both ports");
    if (CLOCKING_MODE != "common_clock")
      $fatal(1, "xpm_memory_tdpram (%m): this stand-in has one clock only");
  end

  logic [WRITE_DATA_WIDTH_A-1:0] mem[DEPTH];
  logic [WRITE_DATA_WIDTH_A-1:0] first_a, first_b;

  assign {sbiterra, dbiterra, sbiterrb, dbiterrb} = 4'b0;

  always @(posedge clka) begin
    if (ena) begin
      if (&wea) mem[addra] <= dina;
      else if (|wea) begin
        for (int i = 0; i < LANES; i++)
          if (wea[i]) mem[addra][i*LANE+:LANE] <= dina[i*LANE+:LANE];
      end else first_a <= mem[addra];
    end
    if (enb) begin
      if (&web) mem[addrb] <= dinb;
      else if (|web) begin
        for (int i = 0; i < LANES; i++)
          if (web[i]) mem[addrb][i*LANE+:LANE] <= dinb[i*LANE+:LANE];
      end else first_b <= mem[addrb];
    end
  end

  generate
    if (READ_LATENCY_A == 1) begin : gen_a1
      assign douta = first_a;
    end else begin : gen_a
      logic [READ_DATA_WIDTH_A-1:0] ring[READ_LATENCY_A-1];
      logic [5:0] at = 0;
      assign douta = ring[at];
      always @(posedge clka) begin
        ring[at] <= first_a;
        at <= at == 6'(READ_LATENCY_A - 2) ? 6'd0 : at + 6'd1;
      end
    end
    if (READ_LATENCY_B == 1) begin : gen_b1
      assign doutb = first_b;
    end else begin : gen_b
      logic [READ_DATA_WIDTH_B-1:0] ring[READ_LATENCY_B-1];
      logic [5:0] at = 0;
      assign doutb = ring[at];
      always @(posedge clka) begin
        ring[at] <= first_b;
        at <= at == 6'(READ_LATENCY_B - 2) ? 6'd0 : at + 6'd1;
      end
    end
  endgenerate

endmodule

`default_nettype wire

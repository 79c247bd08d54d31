// SPDX-License-Identifier: Apache-2.0
//! Receives the console: 8 data bits, no parity, one stop bit.

/// The receiver.
#[derive(Debug)]
pub(super) struct Uart {
    clocks_per_bit: u32,
    /// Clocks until the middle of the next bit, and the number of bits seen of a character.
    waiting: u32,
    bits: u32,
    shift: u16,
    /// Clocks since the last character.
    quiet: u32,
    /// All characters so far.
    pub said: Vec<u8>,
    /// Characters without a stop bit.
    pub framing_errors: u64,
}

impl Uart {
    pub const fn new(clocks_per_bit: u32) -> Self {
        Self {
            clocks_per_bit,
            waiting: 0,
            bits: 0,
            shift: 0,
            quiet: 0,
            said: Vec::new(),
            framing_errors: 0,
        }
    }

    /// Nothing has come for the time of two characters.
    pub const fn is_quiet(&self) -> bool {
        self.quiet > 20 * self.clocks_per_bit
    }

    /// Sees the line in a cycle.
    #[inline]
    pub fn sample(&mut self, line: bool) {
        if self.bits == 0 {
            self.quiet = self.quiet.saturating_add(1);
            if !line {
                self.quiet = 0;
                self.bits = 1;
                self.waiting = self.clocks_per_bit + self.clocks_per_bit / 2 - 1;
            }
            return;
        }
        if self.waiting > 0 {
            self.waiting -= 1;
            return;
        }
        self.waiting = self.clocks_per_bit - 1;
        self.shift = self.shift >> 1 | u16::from(line) << 8;
        self.bits += 1;
        if self.bits == 10 {
            match line {
                true => self.said.push(self.shift as u8),
                false => self.framing_errors += 1,
            }
            self.bits = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters() {
        for clocks in [2, 3, 16] {
            let mut uart = Uart::new(clocks);
            let mut send = |bits: u16, count: u32| {
                for bit in 0..count {
                    (0..clocks).for_each(|_| uart.sample(bits >> bit & 1 != 0));
                }
            };
            send(1, 1);
            send(u16::from(b'F') << 1 | 1 << 9, 10);
            send(u16::from(b'b') << 1 | 1 << 9, 10);
            send(0xff << 1, 10);
            send(0b111, 3);
            assert_eq!(uart.said, b"Fb");
            assert_eq!(uart.framing_errors, 1);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The rule of every AXI channel: once valid, it stays valid with the same payload until ready
//! (AMBA AXI A3.2.1, AMBA AXI-Stream 2.2.1).

use forebay_rtl::{Model, PortHandle};

use crate::error::{Error, Result};

/// Watches a channel that the RTL drives.
#[derive(Debug)]
pub(crate) struct Held {
    channel: &'static str,
    payload: Vec<PortHandle>,
    waiting: bool,
    copy: Vec<u8>,
}

impl Held {
    pub fn new(channel: &'static str, payload: impl IntoIterator<Item = PortHandle>) -> Self {
        Self {
            channel,
            payload: payload.into_iter().collect(),
            waiting: false,
            copy: Vec::new(),
        }
    }

    /// To be called once a cycle, before the rising edge.
    #[inline]
    pub fn watch(&mut self, model: &Model, valid: bool, ready: bool, cycle: u64) -> Result<()> {
        let stalled = valid && !ready;
        if self.waiting || stalled {
            self.compare(model, valid, stalled, cycle)
        } else {
            Ok(())
        }
    }

    fn compare(&mut self, model: &Model, valid: bool, stalled: bool, cycle: u64) -> Result<()> {
        let wrong = |what: &str| Err(Error::protocol(cycle, self.channel, what));
        if self.waiting {
            if !valid {
                return wrong("valid fell before ready came");
            }
            let mut rest = self.copy.as_slice();
            for port in &self.payload {
                let bytes = model.bytes(*port);
                let (before, after) = rest.split_at(bytes.len().min(rest.len()));
                if before != bytes {
                    return wrong("the payload changed while it waited for ready");
                }
                rest = after;
            }
        } else {
            self.copy.clear();
            for port in &self.payload {
                self.copy.extend_from_slice(model.bytes(*port));
            }
        }
        self.waiting = stalled;
        Ok(())
    }

    /// Forgets what was seen: the RTL is being reset.
    pub fn reset(&mut self) {
        self.waiting = false;
    }
}

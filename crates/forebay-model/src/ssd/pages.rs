// SPDX-License-Identifier: Apache-2.0
//! Which memory commands name, for a check that no other command uses it meanwhile.

use super::Ssd;
use super::commands::CommandRef;
use super::prp::Segment;
use crate::{Fabric, Node};

/// What a drive has learnt of the memory of commands, of queues that the FPGA card holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEvent {
    /// A command names this memory, within one page. It is the drive's until its completion.
    Named {
        /// Command identifier.
        cid: u16,
        /// The drive is going to write there, as for a read command; otherwise it reads.
        fills: bool,
        /// Bus address.
        address: u64,
        /// Bytes.
        bytes: u32,
    },
    /// A reset, or a queue was deleted: no command holds any memory.
    Forgotten,
}

impl Ssd {
    /// From now on keeps what [`Self::take_page_events`] hands out.
    pub fn watch_pages(&mut self) {
        self.page_events.get_or_insert_default();
    }

    /// What was learnt since this was last called; nothing before [`Self::watch_pages`].
    pub fn take_page_events(&mut self) -> impl Iterator<Item = PageEvent> {
        self.page_events
            .iter_mut()
            .flat_map(|events| events.drain(..))
    }

    pub(super) fn note_pages(&mut self, event: PageEvent) {
        if let Some(events) = &mut self.page_events {
            events.push(event);
        }
    }

    /// A buffer segment of an I/O command is known.
    pub(super) fn note_segment(
        &mut self,
        fabric: &Fabric,
        at: CommandRef,
        fills: bool,
        segment: Segment,
    ) {
        let (Some(_), Some(command)) = (&self.page_events, self.commands.get(at)) else {
            return;
        };
        let (queue, cid) = (usize::from(command.queue), command.sqe.cid);
        let queue = self.submission.get(queue).and_then(Option::as_ref);
        if queue.is_some_and(|queue| fabric.route(queue.base) == Some(Node::Fpga)) {
            self.note_pages(PageEvent::Named {
                cid,
                fills,
                address: segment.addr,
                bytes: segment.len,
            });
        }
    }
}

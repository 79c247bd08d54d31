// SPDX-License-Identifier: Apache-2.0
//! Where MSI-X vectors are signalled.

use std::os::fd::OwnedFd;

use crate::protocol::{Action, Errno, IrqData, SetIrqs, irq};

/// The vectors of a device: an eventfd each, if the client gave one, which the virtual machine
/// turns into the guest's interrupt.
#[derive(Debug)]
pub(crate) struct Interrupts {
    vectors: Vec<Vector>,
}

#[derive(Debug, Default)]
struct Vector {
    event: Option<OwnedFd>,
    masked: bool,
    /// Raised while it was masked.
    pending: bool,
}

impl Interrupts {
    pub fn new(vectors: u16) -> Self {
        Self {
            vectors: (0..vectors).map(|_| Vector::default()).collect(),
        }
    }

    /// Raises a vector. One without a descriptor is lost, as a message to nowhere would be.
    pub fn raise(&mut self, vector: u16) {
        if let Some(vector) = self.vectors.get_mut(usize::from(vector)) {
            vector.raise();
        }
    }

    /// Does what the client asks for. It may send the descriptors of a type in several messages,
    /// and with none at all it takes them away.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for vectors that are not there, or descriptors that do not fit.
    pub fn set(&mut self, set: SetIrqs, descriptors: Vec<OwnedFd>) -> Result<(), Errno> {
        let first = set.start as usize;
        let range = first..first.saturating_add(set.count as usize);
        let vectors = match set.index {
            irq::MSIX => self.vectors.get_mut(range).ok_or(Errno::INVALID)?,
            irq::ERROR if range.end <= 1 => return Ok(()),
            // Of the other types there are none: only turning them off can be asked for.
            _ if set.count == 0 => return Ok(()),
            _ => return Err(Errno::INVALID),
        };
        if set.count == 0 && set.action == Action::Trigger {
            self.vectors.fill_with(Vector::default);
            return Ok(());
        }
        let meant: Vec<bool> = match set.data {
            IrqData::Descriptors if set.action != Action::Trigger => return Err(Errno::INVALID),
            IrqData::Descriptors if descriptors.is_empty() => {
                vectors.iter_mut().for_each(|vector| vector.event = None);
                return Ok(());
            }
            IrqData::Descriptors if descriptors.len() != vectors.len() => {
                return Err(Errno::INVALID);
            }
            IrqData::Descriptors => {
                for (vector, event) in vectors.iter_mut().zip(descriptors) {
                    vector.event = Some(event);
                }
                return Ok(());
            }
            IrqData::None => vec![true; vectors.len()],
            IrqData::Flags(flags) => flags,
        };
        for (vector, _) in vectors.iter_mut().zip(meant).filter(|(_, meant)| *meant) {
            match set.action {
                Action::Mask => vector.masked = true,
                Action::Unmask => {
                    vector.masked = false;
                    if std::mem::take(&mut vector.pending) {
                        vector.raise();
                    }
                }
                Action::Trigger => vector.raise(),
            }
        }
        Ok(())
    }
}

impl Vector {
    fn raise(&mut self) {
        if self.masked {
            self.pending = true;
        } else if let Some(event) = &self.event {
            // It fails only if it was raised 2^64 − 2 times without a read, or is no event
            // descriptor.
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    fn event() -> OwnedFd {
        eventfd(0, EventfdFlags::NONBLOCK).unwrap()
    }

    /// How often it was raised since the last call.
    fn count(event: &OwnedFd) -> u64 {
        let mut bytes = [0; 8];
        match rustix::io::read(event, &mut bytes) {
            Ok(_) => u64::from_ne_bytes(bytes),
            Err(_) => 0,
        }
    }

    fn set(start: u32, count: u32, action: Action, data: IrqData) -> SetIrqs {
        SetIrqs {
            index: irq::MSIX,
            start,
            count,
            action,
            data,
        }
    }

    #[test]
    fn vectors_are_set_in_pieces_masked_and_taken_away() {
        let mut interrupts = Interrupts::new(4);
        let events: Vec<OwnedFd> = (0..4).map(|_| event()).collect();
        let copies = |range: std::ops::Range<usize>| -> Vec<OwnedFd> {
            let events = events[range].iter();
            events.map(|event| event.try_clone().unwrap()).collect()
        };
        let counts = || events.iter().map(count).collect::<Vec<_>>();
        let trigger = |start, count| set(start, count, Action::Trigger, IrqData::Descriptors);
        interrupts.set(trigger(0, 3), copies(0..3)).unwrap();
        interrupts.set(trigger(3, 1), copies(3..4)).unwrap();
        for vector in [0, 3, 3, 4] {
            interrupts.raise(vector);
        }
        assert_eq!(counts(), [1, 0, 0, 2]);
        let mask = set(1, 2, Action::Mask, IrqData::None);
        interrupts.set(mask, vec![]).unwrap();
        interrupts.raise(1);
        assert_eq!(counts(), [0; 4]);
        let unmask = set(1, 2, Action::Unmask, IrqData::Flags(vec![true, true]));
        interrupts.set(unmask, vec![]).unwrap();
        assert_eq!(counts(), [0, 1, 0, 0]);
        let flags = IrqData::Flags(vec![true, false, false, true]);
        let raise = set(0, 4, Action::Trigger, flags);
        interrupts.set(raise, vec![]).unwrap();
        assert_eq!(counts(), [1, 0, 0, 1]);
        // Without descriptors they are taken away; with none of the vectors, all are.
        interrupts.set(trigger(0, 1), vec![]).unwrap();
        interrupts.raise(0);
        interrupts.raise(1);
        assert_eq!(counts(), [0, 1, 0, 0]);
        let off = set(0, 0, Action::Trigger, IrqData::None);
        interrupts.set(off, vec![]).unwrap();
        interrupts.raise(1);
        assert_eq!(counts(), [0; 4]);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let mut interrupts = Interrupts::new(2);
        let intx = |count| SetIrqs {
            index: 0,
            ..set(0, count, Action::Trigger, IrqData::None)
        };
        let bad = [
            set(1, 2, Action::Mask, IrqData::None),
            set(0, 2, Action::Mask, IrqData::Descriptors),
            intx(1),
        ];
        for bad in bad {
            let outcome = interrupts.set(bad.clone(), vec![]);
            assert_eq!(outcome, Err(Errno::INVALID), "{bad:?}");
        }
        let two = set(0, 2, Action::Trigger, IrqData::Descriptors);
        let outcome = interrupts.set(two, vec![event()]);
        assert_eq!(outcome, Err(Errno::INVALID));
        assert_eq!(interrupts.set(intx(0), vec![]), Ok(()));
        let errors = SetIrqs {
            index: irq::ERROR,
            ..set(0, 1, Action::Trigger, IrqData::Descriptors)
        };
        assert_eq!(interrupts.set(errors, vec![event()]), Ok(()));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The admin command set: dispatch, Identify, Abort, asynchronous events.

use super::commands::{CommandRef, Transfer};
use super::{PCI_VENDOR, Ssd};
use super::{format, log_page};
use crate::{Fabric, Time};
use forebay_spec::nvme::identify::{self, IdentifyController, IdentifyNamespace, cns, oacs, oncs};
use forebay_spec::nvme::{AdminOpcode, NSID_ALL, Sqe, Status, log, regs};

/// Abort commands outstanding at once, 0's based. Each is done at once, so this never matters.
const ABORT_LIMIT: u8 = 3;
/// Asynchronous Event Requests outstanding at once, 0's based.
const ASYNC_EVENT_LIMIT: u8 = 3;

/// How an admin command ends.
pub(super) enum Outcome {
    /// It completes with dword 0.
    Done(u32),
    /// Its data go to the host first.
    Send(Box<[u8]>),
    /// It completes when an event occurs.
    Wait,
}

impl Ssd {
    /// Executes an admin command.
    pub(super) fn admin(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        let sqe = command.sqe;
        match self.execute(now, fabric, &sqe) {
            Err(status) => self.finish(now, fabric, at, status),
            Ok(Outcome::Done(result)) => {
                if let Some(command) = self.commands.get(at) {
                    command.result = result;
                }
                self.finish(now, fabric, at, Status::SUCCESS);
            }
            Ok(Outcome::Send(data)) => {
                let len = data.len() as u32;
                self.transfer(now, fabric, at, Transfer::FromController(data), len);
            }
            Ok(Outcome::Wait) => {
                // From now on only its identifier is kept.
                self.commands.remove(at);
                self.report_events(now, fabric);
            }
        }
    }

    fn execute(&mut self, now: Time, fabric: &mut Fabric, sqe: &Sqe) -> Result<Outcome, Status> {
        let opcode = AdminOpcode::from_number(sqe.opcode).ok_or(Status::INVALID_OPCODE)?;
        if sqe.fuse() != 0 || sqe.psdt() != 0 {
            return Err(Status::INVALID_FIELD);
        }
        match opcode {
            AdminOpcode::CreateIoCq => self.create_completion_queue(sqe),
            AdminOpcode::CreateIoSq => self.create_submission_queue(sqe),
            AdminOpcode::DeleteIoCq => self.delete_completion_queue(sqe),
            AdminOpcode::DeleteIoSq => self.delete_submission_queue(sqe),
            AdminOpcode::Identify => self.identify(sqe),
            AdminOpcode::SetFeatures => {
                let queues_exist = self.submission.iter().skip(1).any(Option::is_some)
                    || self.completion.iter().skip(1).any(Option::is_some);
                self.features.set(sqe, queues_exist)
            }
            AdminOpcode::GetFeatures => self.features.get(sqe),
            AdminOpcode::GetLogPage => {
                let page = self.log_page(now, sqe)?;
                if sqe.cdw10() & log::RETAIN_EVENT == 0 {
                    self.log.read(sqe.cdw10() as u8);
                }
                Ok(Outcome::Send(page))
            }
            AdminOpcode::Abort => Ok(Outcome::Done(self.abort(now, fabric, sqe))),
            AdminOpcode::AsyncEventRequest => {
                if !self.log.wait(sqe.cid, ASYNC_EVENT_LIMIT as usize + 1) {
                    return Err(Status::ASYNC_EVENT_LIMIT_EXCEEDED);
                }
                Ok(Outcome::Wait)
            }
            AdminOpcode::FormatNvm => self.format_nvm(sqe),
        }
    }

    /// Abort (5.1): only commands that would never complete are still there to be aborted.
    fn abort(&mut self, now: Time, fabric: &mut Fabric, sqe: &Sqe) -> u32 {
        let (queue, cid) = (sqe.cdw10() as u16, (sqe.cdw10() >> 16) as u16);
        match self.commands.find_dropped(queue, cid) {
            Some(at) => {
                self.finish(now, fabric, at, Status::ABORT_REQUESTED);
                0
            }
            None => 1,
        }
    }

    /// Completes Asynchronous Event Requests for events that wait (5.2).
    pub(super) fn report_events(&mut self, now: Time, fabric: &mut Fabric) {
        while let Some((cid, event)) = self.log.report() {
            self.complete_admin(now, fabric, cid, event);
        }
    }

    /// Identify (5.17).
    fn identify(&self, sqe: &Sqe) -> Result<Outcome, Status> {
        let mut data = Box::new([0; identify::BYTES]);
        match sqe.cdw10() as u8 {
            cns::CONTROLLER => self.identify_controller().write_to(&mut data),
            cns::NAMESPACE => {
                if sqe.nsid == NSID_ALL {
                    // Only what all namespaces have in common, and that needs their management.
                    return Err(Status::INVALID_NAMESPACE);
                }
                self.identify_namespace(sqe.nsid)?.write_to(&mut data);
            }
            cns::ACTIVE_NAMESPACES => {
                if sqe.nsid >= u32::MAX - 1 {
                    return Err(Status::INVALID_NAMESPACE);
                }
                let last = self.namespaces.len() as u32;
                identify::write_active_list(&mut data, 1..=last, sqe.nsid);
            }
            cns::DESCRIPTORS => {
                self.namespace(sqe.nsid)?;
                identify::write_descriptor_list(&mut data, eui64(sqe.nsid));
            }
            // Of the NVM command set, the only one (CSI, bits 31:24 of dword 11). Its structures
            // say that there is no protection information, and no limit besides the transfer size.
            cns::COMMAND_SET_NAMESPACE if sqe.cdw11() >> 24 == 0 => {
                self.namespace(sqe.nsid)?;
            }
            cns::COMMAND_SET_CONTROLLER if sqe.cdw11() >> 24 == 0 => {}
            cns::INDEPENDENT_NAMESPACE => {
                self.namespace(sqe.nsid)?;
                identify::write_independent_namespace(&mut data);
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(Outcome::Send(data))
    }

    fn identify_controller(&self) -> IdentifyController {
        let mut data = IdentifyController {
            vendor: PCI_VENDOR,
            subsystem_vendor: PCI_VENDOR,
            mdts: self.profile.controller.mdts,
            version: regs::VERSION_1_4,
            abort_limit: ABORT_LIMIT,
            async_event_limit: ASYNC_EVENT_LIMIT,
            error_log_entries: (log_page::ERROR_ENTRIES - 1) as u8,
            namespaces: self.namespaces.len() as u32,
            oacs: oacs::FORMAT,
            oncs: oncs::COMPARE | oncs::DATASET_MANAGEMENT | oncs::WRITE_ZEROES,
            vwc: if self.profile.controller.write_cache {
                0b111
            } else {
                0b110
            },
            ..IdentifyController::default()
        };
        data.set_names(&self.serial, &self.profile.model, env!("CARGO_PKG_VERSION"));
        let name = format!("nqn.2024-01.org.forebay:model:{}", self.serial);
        data.subnqn[..name.len()].copy_from_slice(name.as_bytes());
        data
    }

    fn identify_namespace(&self, nsid: u32) -> Result<IdentifyNamespace, Status> {
        let namespace = self.namespace(nsid)?;
        Ok(IdentifyNamespace {
            size: namespace.blocks,
            capacity: namespace.blocks,
            utilisation: namespace.blocks,
            format: namespace.format(),
            formats: format::formats(),
            format_count: format::SHIFTS.len() as u8,
            dlfeat: 1,
            eui64: eui64(nsid),
        })
    }
}

/// Identifier of a namespace, locally administered: no vendor has it.
fn eui64(nsid: u32) -> [u8; 8] {
    let [a, b, c, d] = nsid.to_be_bytes();
    [0x02, b'F', b'B', b'Y', a, b, c, d]
}

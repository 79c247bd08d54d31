// SPDX-License-Identifier: Apache-2.0
//! The driver's flight record of our RTL: a doorbell that goes nowhere, a look that leaves no trace.

use crate::common::{onchip, system};
use forebay_cosim::{Config, System, Write};
use forebay_driver::Flight;
use forebay_driver::flight::{Ask, Verdict};
use forebay_model::{FaultAction, FaultPlan, Trigger};
use forebay_spec::streamer::regs;

/// Cycles after which commands are given up.
const TIMEOUT: u32 = 20_000;

fn impatient() -> Config {
    let mut config = onchip();
    config.driver.timeout_cycles = TIMEOUT;
    config
}

fn take(system: &mut System) -> Flight {
    let ask = Ask::default();
    let taken = system.with_session(|session, system| Flight::take(session, system, &ask));
    taken.expect("is up")
}

fn write(system: &mut System, count: u64) {
    for n in 0..count {
        system.submit_write(Write::new(n << 13, vec![n as u8; 8192]));
    }
    system.run().expect("ends by the time-out at the latest");
}

#[test]
fn a_doorbell_that_goes_nowhere_is_found() {
    let mut system = system(impatient());
    write(&mut system, 2);
    let nowhere = 0xd000_0000;
    system.with_session(|session, system| {
        let streamer = session.streamer().expect("is there");
        let offset = regs::sq_doorbell::OFFSET;
        streamer.write(system, offset, nowhere).expect("is written");
    });
    write(&mut system, 3);
    let queue = &system.ssd().queues()[1];
    assert_eq!((queue.sq_tail, queue.sq_head), (2, 2));
    for look in ["first", "second"] {
        let flight = take(&mut system);
        let text = &flight.diagnosis.text;
        assert_eq!(flight.diagnosis.verdict, Verdict::NotFetched, "{text}");
        assert!(text.contains("3 commands outstanding"), "{look} {text}");
        assert!(
            text.contains("3 entries less than doorbell 5") || look == "second",
            "{text}"
        );
        let host = flight.host.expect("is there");
        assert_eq!(
            (host.sq_fetched, host.sq_tail, host.halted),
            (Some(2), 5, true)
        );
        let open = flight.submission_queue.iter().filter(|it| it.open);
        assert!(open.count() == 3 || look == "second");
    }
}

#[test]
fn a_second_look_finds_what_the_first_did() {
    let mut config = impatient();
    config.faults = FaultPlan::none().once(Trigger::Nth(3), FaultAction::Drop);
    let mut system = system(config);
    write(&mut system, 30);
    let looks = [take(&mut system), take(&mut system)];
    for flight in &looks {
        assert_eq!(flight.diagnosis.verdict, Verdict::NotCompleted);
        let host = flight.host.as_ref().expect("is there");
        assert_eq!(
            (host.outstanding, host.sq_tail),
            (1, host.sq_fetched.expect("seen"))
        );
        let slots: Vec<_> = flight.submission_queue.iter().map(|it| it.slot).collect();
        assert_eq!(slots.len(), 16);
        assert_eq!(slots.last().map(|slot| slot + 1), Some(host.sq_tail));
    }
    assert_eq!(
        looks[0].submission_queue.len(),
        looks[1].submission_queue.len()
    );
}

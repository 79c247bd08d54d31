// SPDX-License-Identifier: Apache-2.0
//! A network in the chain of elements: pictures recorded through it, and the classes that its twin says.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use forebay_app::record::{Outputs, PartnerSpec, SimulatedSpec, SourceSpec, Took};
use forebay_app::report::Header;
use forebay_app::traffic::Traffic;
use forebay_app::{Ended, Failure, MachineSpec, Memory, Result, home, progress, python, record};
use forebay_cosim::CLOCK_PERIOD;
use forebay_draw::text::Page;
use forebay_model::SECOND;
use forebay_pipeline::units::count;
use forebay_pipeline::{Paths, Pipeline, units};
use forebay_store::{Cell, Entry, FileDisk, Objects, Part, Recording, assemble};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// Room on each drive: more than what is drawn at the most.
const DRIVE: &str = "4GiB";
/// Small images that have a place in front of a network, and the one that it judges.
const PLACES: u64 = 7;
/// Microseconds that an index record waits for its class at the most.
const RESULT_MOST: u64 = 4_000_000;
/// The drive where none is named: SNAcc's.
pub const PROFILE: &str = "990pro-2tb";

/// A network.
#[derive(Clone, Debug)]
pub enum NetworkSpec {
    /// A quantised ONNX file, with options of `forebay dnn compile`.
    Onnx(PathBuf, Vec<OsString>),
    /// MobileNet-V1 1.0/224 with weights drawn at random, with at most this number of cycles an image.
    Mobilenet(u32),
}

/// What is prepared.
#[derive(Clone, Debug)]
pub struct TrialSpec {
    /// The network.
    pub network: NetworkSpec,
    /// Pictures.
    pub count: u32,
    /// Hertz of the network's own clock; none: it has the chain's.
    pub clock: Option<u64>,
    /// Pixels of a picture as `2000x1495`; none: some three times what the network sees.
    pub size: Option<String>,
    /// Decides everything that is random.
    pub seed: u64,
}

/// A network as an element, and pictures: in a folder that goes with it.
pub struct Trial {
    folder: TempDir,
    clock: Option<u64>,
    /// What is known of them.
    pub about: About,
}

/// A network and pictures, as the compiler and the twin have them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct About {
    /// What the network is called.
    pub name: String,
    /// From an image to the next one.
    pub cycles: u32,
    /// From the last byte of an image to its class.
    pub latency_cycles: u32,
    /// Multipliers.
    pub dsp: u32,
    /// Block RAMs of layers.
    pub ramb36_of_layers: f64,
    /// Block RAMs of the FIFOs between them.
    pub ramb36_of_links: f64,
    /// Bytes of the greatest picture.
    pub bytes: u64,
    /// What the twin says of each picture.
    #[serde(skip_serializing)]
    pub due: Vec<Answer>,
}

impl About {
    /// Of the first pictures, the most of one class.
    pub fn of_one_class(&self, count: u32) -> u64 {
        let mut classes: BTreeMap<u16, u64> = BTreeMap::new();
        for answer in self.due.iter().take(count as usize) {
            *classes.entry(answer.0).or_default() += 1;
        }
        classes.into_values().max().unwrap_or_default()
    }
}

/// A class, and its softmax.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer(pub u16, pub f32);

/// The RTL of a network beside its twin.
#[derive(Debug, Serialize)]
pub struct Check {
    #[serde(flatten)]
    header: Header,
    network: About,
    /// From an image to the next one, as simulated.
    cycles_per_picture: f64,
    #[serde(flatten)]
    found: Judged,
}

impl Check {
    /// Compiles, draws, records what this number of senders has in turns, compares.
    ///
    /// # Errors
    /// As [`Trial::prepare`] and [`Trial::record`].
    pub fn run(spec: &TrialSpec, senders: u8) -> Result<Self> {
        if u32::from(senders) > spec.count {
            return Err(Failure::input(
                "--senders",
                senders,
                &format!("{} pictures are too few for them", spec.count),
                "give --count N",
            ));
        }
        progress::step("compiling the network, drawing pictures, asking the twin");
        let trial = Trial::prepare(spec)?;
        let (found, header) = trial.record(&Way {
            senders,
            ..Way::new(Memory::Host, 64 << 20, spec.seed)
        })?;
        let cycle = CLOCK_PERIOD as f64 * 1e-3;
        Ok(Self {
            header: Header {
                schema: "forebay.dnn-check/1".into(),
                ..header
            },
            network: trial.about,
            cycles_per_picture: found.nanoseconds as f64 / cycle / found.objects.max(1) as f64,
            found,
        })
    }

    /// Each picture has the twin's class and score.
    pub fn is_good(&self) -> bool {
        self.found.is_good() && self.found.judged == self.found.objects
    }

    /// Most pictures are of one class, so that little is compared.
    fn is_vacuous(&self) -> bool {
        5 * self.found.of_one_class > self.found.judged.max(5)
    }

    /// As text.
    pub fn page(&self) -> Page {
        let Self { network, found, .. } = self;
        let (objects, most) = (count(found.objects), count(found.of_one_class));
        let mut page = Page::simulated("Forebay dnn check");
        page.field(
            "network",
            format_args!(
                "{}, an image in {} cycles, {} DSP, {} RAMB36",
                network.name,
                count(network.cycles.into()),
                network.dsp,
                network.ramb36_of_layers + network.ramb36_of_links
            ),
        )
        .field("RTL", &found.top)
        .field(
            "pictures",
            format_args!("{objects}, no class has more than {most} of them"),
        )
        .field(
            "simulated",
            format_args!(
                "{} cycles a picture, {:.2} s of this machine each",
                count(self.cycles_per_picture as u64),
                found.host_seconds / found.objects.max(1) as f64,
            ),
        );
        if let Some(seconds) = found.compile_seconds {
            page.field("compiled", format_args!("in {seconds:.0} s"));
        }
        if self.is_vacuous() {
            page.line("  little is compared: more than a fifth of the pictures are of one class");
        }
        if let Some(fault) = found.fault() {
            page.line(format_args!("  {fault}"));
        }
        page.verdict(self.is_good(), format!(
            "of {objects} pictures {} were judged, and {} classes or scores differ from the twin's",
            count(found.judged), count(found.differ)
        ));
        page
    }
}

/// How pictures are recorded.
#[derive(Clone, Debug)]
pub struct Way {
    /// Where the payload is.
    pub memory: Memory,
    /// Its bytes in each direction.
    pub buffer: u64,
    /// Profile of the drives.
    pub profile: String,
    /// How many.
    pub drives: u8,
    /// The network is in the chain.
    pub judged: bool,
    /// Pictures that come while the network is busy are not judged; else the stream waits.
    pub skip: bool,
    /// Cameras that have the pictures in turns and send at once, 1 to 4.
    pub senders: u8,
    /// Pictures; none: all.
    pub count: Option<u32>,
    /// Decides everything that is random in the machine and on the wire.
    pub seed: u64,
}

impl Way {
    /// One drive with its payload in a memory, the network in the chain, all pictures.
    pub fn new(memory: Memory, buffer: u64, seed: u64) -> Self {
        Self {
            memory,
            buffer,
            profile: PROFILE.to_owned(),
            drives: 1,
            judged: true,
            skip: false,
            senders: 1,
            count: None,
            seed,
        }
    }
}

/// What came of a recording.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judged {
    /// The top whose RTL moved the bytes.
    pub top: String,
    /// The network was in the chain.
    #[serde(skip)]
    pub(crate) with: bool,
    /// Pictures on the drives.
    pub objects: u64,
    /// Those that have a class.
    pub judged: u64,
    /// Classes or scores that are not the twin's.
    pub differ: u64,
    /// Pictures without a class that should have one: it came too late, or never.
    pub without: u64,
    /// Results that did not come in time.
    pub late: u64,
    /// Results for which no index record waited.
    pub stray: u64,
    /// Most pictures of one class.
    pub of_one_class: u64,
    /// Simulated time, from the first frame to the answer to the last extent.
    pub nanoseconds: u64,
    /// When the first byte of each picture came, in nanoseconds, the earliest first.
    #[serde(skip)]
    pub arrivals: Vec<u64>,
    /// Bytes of pictures that are stored.
    pub bytes: u64,
    /// What the element counted.
    pub status: BTreeMap<String, u64>,
    /// What crossed PCIe.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Seconds for simulating the recording, by the clock of the machine that did it.
    pub host_seconds: f64,
    /// Seconds for compiling its RTL; none: it was there already.
    pub compile_seconds: Option<f64>,
    /// Something else that does not add up.
    pub wrong: Vec<String>,
}

impl Judged {
    /// Nothing is lost, each class is the twin's, and each picture was judged, or counted as left out.
    pub fn is_good(&self) -> bool {
        let left_out: u64 = self.status.values().sum();
        let none = self.differ + self.without + self.late + self.stray == 0;
        none && self.wrong.is_empty() && (self.judged + left_out == self.objects || !self.with)
    }

    /// What a figure says of one that is not good.
    pub fn fault(&self) -> Option<String> {
        (!self.is_good()).then(|| {
            let Self { differ, without, late, stray, .. } = self;
            let all = [format!(
                "{differ} classes differ, {without} are missing, {late} came too late, {stray} were stray"
            )];
            let all: Vec<_> = all.iter().chain(&self.wrong).map(String::as_str).collect();
            all.join("; ")
        })
    }
}

impl Trial {
    /// Compiles a network, draws pictures, and asks the twin.
    ///
    /// # Errors
    /// A network that no element can have, a file that is none.
    pub fn prepare(spec: &TrialSpec) -> Result<Self> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
        let mut words: Vec<OsString> = vec!["trial".into(), "--into".into(), folder.path().into()];
        let mut option = |name: &str, value: String| words.extend([name.into(), value.into()]);
        option("--count", spec.count.to_string());
        option("--seed", spec.seed.to_string());
        if let Some(size) = &spec.size {
            option("--size", size.clone());
        }
        match &spec.network {
            NetworkSpec::Mobilenet(cycles) => option("--cycles", cycles.to_string()),
            NetworkSpec::Onnx(net, options) => {
                words.extend(options.iter().cloned());
                words.push(std::path::absolute(net).unwrap_or(net.clone()).into());
            }
        }
        if spec.clock.is_some() {
            words.push("--own-clock".into());
        }
        let about: About = python::ask("forebay.dnn", &words)?;
        Ok(Self {
            folder,
            clock: spec.clock,
            about,
        })
    }

    /// Records the pictures, and compares each class with the twin's.
    ///
    /// # Errors
    /// A machine that does not come up, drives that cannot be read, Ctrl-C.
    pub fn record(&self, way: &Way) -> Result<(Judged, Header)> {
        let (pipeline, images) = self.pipeline(way)?;
        let sent = self.sent(way)?;
        let mut machine = MachineSpec {
            seed: way.seed,
            ..MachineSpec::default()
        };
        if way.drives > 1 {
            // The card's own link would be the limit.
            machine.array.fpga_link = units::link("gen4x16").ok();
        }
        let paths = (0..way.senders).map(|sender| sent.path().join(sender.to_string()));
        let spec = SimulatedSpec {
            partner: PartnerSpec::new(
                SourceSpec::Files {
                    paths: paths.collect(),
                },
                machine.seed,
            ),
            machine,
            overwrite: true,
            outputs: Outputs::default(),
        };
        let (report, ended) = record::simulated(&spec, pipeline, |_| Ok(()), || {})?;
        match ended {
            Ended::Done => {}
            Ended::Interrupted => return Err(Failure::interrupted()),
            Ended::Failed(failure) => return Err(failure),
        }
        let Took {
            compiled,
            simulated,
        } = report.took;
        let elements = &report.summary.elements;
        let status = elements.first().map(|one| one.status.clone());
        let mut wrong = report.summary.wrong.clone();
        if !report.is_good() {
            wrong.push("not all that was sent is on the drives".into());
        }
        let results = report.summary.results.as_ref();
        let mut judged = Judged {
            top: report.header.rtl.top.clone(),
            with: way.judged,
            objects: 0,
            judged: 0,
            differ: 0,
            without: 0,
            late: results.map_or(0, |results| results.late),
            stray: results.map_or(0, |results| results.stray),
            of_one_class: 0,
            nanoseconds: report.summary.nanoseconds,
            arrivals: Vec::new(),
            bytes: report.summary.stored.bytes,
            status: status.unwrap_or_default(),
            traffic: report.traffic.unwrap_or_default(),
            host_seconds: simulated.as_secs_f64(),
            compile_seconds: compiled.map(|time| time.as_secs_f64()),
            wrong,
        };
        let compared = self.compare(way, &images, &mut judged);
        for image in &images {
            fs::remove_file(image).map_err(|error| Failure::file("removing", image, error))?;
        }
        compared.map(|()| (judged, report.header))
    }

    /// Microseconds that an index record waits for its class: until all pictures that have a place were
    /// judged, and a tenth more.
    fn patience(&self) -> Result<u64> {
        let cycles = u64::from(self.about.latency_cycles) + PLACES * u64::from(self.about.cycles);
        let hertz = self.clock.unwrap_or(SECOND / CLOCK_PERIOD);
        let wait = u128::from(cycles) * 1_100_000 / u128::from(hertz) + 1_000;
        match u64::try_from(wait) {
            Ok(wait) if wait <= RESULT_MOST => Ok(wait),
            _ => Err(Failure::input(
                "the network",
                format_args!("{} cycles an image", self.about.cycles),
                &format!(
                    "index records wait {} s for a class at the most",
                    RESULT_MOST / 1_000_000
                ),
                "ask for more images a second, or a faster clock",
            )),
        }
    }

    /// The pipeline, and the images of its drives.
    fn pipeline(&self, way: &Way) -> Result<(Pipeline, Vec<PathBuf>)> {
        let at = |name: &str| self.folder.path().join(name);
        let quoted = |path: &Path| toml::Value::from(&*path.to_string_lossy()).to_string();
        let mut text = format!(
            "[source]\nstreams = {}\n[buffer]\nmemory = '{}'\nsize = '{}'\n",
            way.senders,
            way.memory.name(),
            units::bytes(way.buffer),
        );
        if way.judged {
            _ = write!(
                text,
                "[sink]\nresult = '{}us'\n[[pe]]\nname = '{}'\npath = {}\nskip = {}\n",
                self.patience()?,
                self.about.name,
                quoted(&at("element")),
                way.skip
            );
        }
        if let Some(clock) = self.clock.filter(|_| way.judged) {
            _ = write!(text, "[chain]\nclock = '{}MHz'\n", clock / 1_000_000);
        }
        let images: Vec<_> = (0..way.drives)
            .map(|number| at(&format!("drive{number}.img")))
            .collect();
        // A file's path would start from the folder of the pipeline.
        let path = std::path::absolute(&way.profile).ok();
        let path = path.filter(|path| path.is_file());
        let profile = path.unwrap_or_else(|| way.profile.clone().into());
        for image in &images {
            let (image, profile) = (quoted(image), quoted(&profile));
            _ = write!(
                text,
                "[[ssd]]\nprofile = {profile}\nimage = {image}\nsize = '{DRIVE}'\n"
            );
        }
        let file = at("pipeline.toml");
        fs::write(&file, text).map_err(|error| Failure::file("writing", &file, error))?;
        Ok((
            Pipeline::load(&file, &Paths::new(&home::find()?, &[]))?,
            images,
        ))
    }

    /// How many pictures are sent.
    fn count(&self, way: &Way) -> usize {
        let all = self.about.due.len();
        way.count.map_or(all, |count| all.min(count as usize))
    }

    /// A folder for each camera with the pictures that it sends.
    fn sent(&self, way: &Way) -> Result<TempDir> {
        let failed = |path: &Path, error| Failure::file("linking", path, error);
        let folder = tempfile::tempdir_in(self.folder.path())
            .map_err(|error| failed(self.folder.path(), error))?;
        for sender in 0..way.senders {
            let own = folder.path().join(sender.to_string());
            fs::create_dir(&own).map_err(|error| failed(&own, error))?;
        }
        let senders = usize::from(way.senders);
        for number in 0..self.count(way) {
            let name = format!("{number:06}.ppm");
            let to = folder.path().join((number % senders).to_string());
            std::os::unix::fs::symlink(
                self.folder.path().join("pictures").join(&name),
                to.join(&name),
            )
            .map_err(|error| failed(&to, error))?;
        }
        Ok(folder)
    }

    /// Compares classes and scores in the recording with the twin's.
    fn compare(&self, way: &Way, images: &[PathBuf], judged: &mut Judged) -> Result<()> {
        let mut parts = Vec::with_capacity(images.len());
        for image in images {
            let disk = Box::new(FileDisk::open(image)?);
            parts.push(Part::new(image.display().to_string(), disk));
        }
        let disk = assemble(parts, false)?;
        let recording = Recording::open(&*disk)?;
        let mut objects = Objects::new(recording.superblock().schema);
        let mut all = Vec::new();
        for entry in recording.rows() {
            match entry {
                Entry::Row {
                    row, wrong: None, ..
                } => all.extend(objects.push(&row, None)),
                Entry::Row {
                    wrong: Some(why), ..
                }
                | Entry::Damaged { why, .. } => judged.wrong.push(why),
            }
        }
        all.extend(objects.rest());
        // One that came in turns with others lies in parts: it counts once.
        judged.objects = all.len() as u64;
        judged.arrivals = all.iter().map(|object| object.time_ns).collect();
        judged.arrivals.sort_unstable();
        if all.len() != self.count(way) {
            let sent = self.count(way);
            judged.wrong.push(format!(
                "{sent} pictures were sent, {} are there",
                all.len()
            ));
        }
        let mut classes: BTreeMap<u16, u64> = BTreeMap::new();
        let mut numbers = HashSet::new();
        for object in &all {
            let number = object.object.checked_mul(way.senders.into());
            let number = number.and_then(|number| number.checked_add(object.stream.into()));
            let number = number.and_then(|number| usize::try_from(number).ok());
            let due = number.and_then(|number| self.about.due.get(number));
            let Some(due) = due.filter(|_| numbers.insert(number)) else {
                let (stream, number) = (object.stream, object.object);
                judged.wrong.push(format!(
                    "object {number} of stream {stream} is there, which was not sent, or twice"
                ));
                continue;
            };
            let found = match (object.result.class(), object.result.get("score")) {
                (Some(class), Some(Cell::Float(score))) => Some(Answer(class, *score)),
                _ => None,
            };
            match found {
                Some(found) => {
                    judged.judged += 1;
                    judged.differ += u64::from(found != *due);
                    *classes.entry(found.0).or_default() += 1;
                }
                None if way.skip || !way.judged => {}
                None => judged.without += 1,
            }
        }
        judged.of_one_class = classes.into_values().max().unwrap_or_default();
        Ok(())
    }
}

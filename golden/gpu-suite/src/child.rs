//! Programs in processes of their own: one that never ends, or that leaves the GPU in a state in which nothing runs any more, spoils no other.

use std::{
    io::Read,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// How often somebody looks whether a process has ended.
const LOOK: Duration = Duration::from_millis(3);
/// Characters of what a process says that are passed on.
const MOST: usize = 2000;

/// What a process prints, if it ends well and in time.
pub(crate) fn printed(command: &mut Command, most: Duration) -> Result<String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a process")?;
    // Both are read at once, so that neither fills up and makes the process wait.
    let read = |from: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What there was before an error is what there is to say.
            _ = from.map(|mut from| from.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>));
    let said = read(child.stderr.take().map(|said| Box::new(said) as Box<dyn Read + Send>));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for a process")? {
            break Some(status);
        }
        if begin.elapsed() >= most {
            child.kill().context("cannot end a process")?;
            child.wait().context("cannot wait for a process")?;
            break None;
        }
        thread::sleep(LOOK);
    };
    let Some(status) = status else { bail!("it did not end within {} s", most.as_secs_f64()) };
    let (out, said) = (out.join().unwrap_or_default(), said.join().unwrap_or_default());
    if status.success() {
        return Ok(out);
    }
    let said: String = said.trim().chars().take(MOST).collect();
    if said.is_empty() { bail!("it ended with {status}") } else { bail!("{said}") }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, most: Duration) -> Result<String, String> {
        printed(Command::new("sh").args(["-c", script]), most).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_process_prints_or_what_is_wrong_with_it() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo row 1 2; echo aside >&2", long).as_deref(), Ok("row 1 2\n"));
        assert_eq!(shell("echo row; echo bad GPU >&2; exit 1", long).unwrap_err(), "bad GPU");
        assert!(shell("exit 7", long).unwrap_err().contains('7'));
        assert!(shell("kill -9 $$", long).unwrap_err().contains("signal"));
        // More than a pipe holds.
        let much = shell("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done", long).unwrap();
        assert_eq!(much.len(), 20_000 * 11);
        let begin = Instant::now();
        assert_eq!(shell("exec sleep 100", Duration::from_millis(50)).unwrap_err(), "it did not end within 0.05 s");
        assert!(begin.elapsed() < Duration::from_secs(50));
        assert!(printed(&mut Command::new("/nowhere/no program"), long).is_err());
    }
}

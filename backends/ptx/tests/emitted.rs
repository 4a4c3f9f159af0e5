//! Every kernel of the golden programs has PTX, on every target.

use crate::common;

use fusebox_ptx::{Positions, emit_scheduled};
use fusebox_schedule::{Preferences, Target, schedule};

/// Sorts are texts of their own.
#[test]
fn sorts_have_text() {
    let folder = std::env::var_os("FUSEBOX_PTX_OUT").map(std::path::PathBuf::from);
    for target in ["sm_70", "sm_80", "sm_90", "sm_100"] {
        let texts = fusebox_ptx::sorts(&Target::named(target).unwrap());
        assert_eq!(texts.len(), 4);
        for (name, text) in texts {
            assert!(text.contains(&format!(".target {target}")) && !text.contains('$'), "{name}");
            if let Some(folder) = folder.as_ref().filter(|_| target == "sm_70") {
                std::fs::write(folder.join(format!("test-{name}.ptx")), text).unwrap();
            }
        }
    }
}

#[test]
fn golden_kernels_have_text() {
    // `cargo xtask ptxas` assembles what is written there, each text for the target that its name ends with.
    let folder = std::env::var_os("FUSEBOX_PTX_OUT").map(std::path::PathBuf::from);
    let mut refused = Vec::new();
    let (mut count, mut forms) = (0, std::collections::BTreeMap::new());
    for (name, plan) in common::golden_plans() {
        for (position, kernel) in plan.kernels.iter().enumerate() {
            for target in ["sm_70", "sm_80", "sm_90", "sm_100"] {
                match fusebox_ptx::emit(kernel, &Target::named(target).unwrap()) {
                    Ok(module) => {
                        assert_ne!(module.narrow, kernel.levels.is_empty());
                        count += 1;
                        *forms.entry(module.form.clone()).or_insert(0) += 1;
                        assert!(module.text.contains(&format!(".target {target}")));
                        if let Some(folder) = folder.as_ref().filter(|_| target == "sm_70") {
                            std::fs::write(folder.join(format!("test-{name}-{position}.ptx")), module.text).unwrap();
                            if module.narrow {
                                let own = Target::named(target).unwrap();
                                let schedule = schedule(kernel, &own, Preferences::default()).schedule;
                                let long = emit_scheduled(kernel, &schedule, &own, Positions::Long).unwrap();
                                std::fs::write(folder.join(format!("test-{name}-{position}-long.ptx")), long.text)
                                    .unwrap();
                            }
                        }
                    }
                    Err(error) => refused.push(format!("{name}: {error}")),
                }
            }
        }
    }
    println!("{count} modules\n{forms:#?}\nrefused:\n{}", refused.join("\n"));
    assert!(count > 1000);
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

//! `--device auto` on a machine that has a software device alone: a GPU that was given is not there.

use assert_cmd::cargo::cargo_bin_cmd;

use crate::machines::Machine;

#[test]
fn what_was_given_and_is_not_there_is_no_software_device() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let variables = ["CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "ROCR_VISIBLE_DEVICES"];
    let check = |name: &str, value: &str, code: i32, told: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = cargo_bin_cmd!("scanbox");
        variables.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("VK_DRIVER_FILES", &driver).env("SCANBOX_CACHE", folder.path()).env(name, value);
        command.args(["space", "--device", "auto", "--space", "quick", "--sizes", "2^10"]);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && said.contains(told), "{name}={value}: {said}");
    };
    check("SLURM_JOB_ID", "7", 0, "");
    for no_gpu in ["", "-1", "none", "NoDevFiles"] {
        check("CUDA_VISIBLE_DEVICES", no_gpu, 0, "");
    }
    for (value, told) in
        [("0", "CUDA_VISIBLE_DEVICES=0 names a GPU"), ("0,1", "finds none here"), ("x", "doctor")]
    {
        check("CUDA_VISIBLE_DEVICES", value, 3, told);
    }
    check("CUDA_VISIBLE_DEVICES", "MIG-1234", 3, "CUDA_VISIBLE_DEVICES=MIG-1234 names a GPU");
    check("SLURM_JOB_GPUS", "0", 3, "SLURM_JOB_GPUS=0 names a GPU");
    check("SLURM_STEP_GPUS", "1", 3, "SLURM_STEP_GPUS=1");
}

error: results/DEVICE.thesis.i32-add-reduce.csv: No such file or directory (os error 2)

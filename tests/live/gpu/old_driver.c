/* A libcuda.so.1 of CUDA 11.0, as far as a program comes with it: its version is asked first, and found too old. */
int cuDriverGetVersion(int *version) { return *version = 11000, 0; }

int cuInit(unsigned flags) { return (int)flags * 0; }

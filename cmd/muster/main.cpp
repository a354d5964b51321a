#include <cstdio>
int main() { std::puts("muster " MUSTER_VERSION); }

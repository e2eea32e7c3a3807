// Owns the precompiled headers of the tests (cmake/PerfleetRooms.cmake). A program, because tests are compiled as such.
int main() {}

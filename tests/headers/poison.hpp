// Macros that other people's headers define, in the shapes in which they define them. A header that is
// included after this one must not use any of these names. Included after the system's headers, which are
// free to use them.
#pragma once

// windows.h
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define DELETE 0x00010000L
#define NO_ERROR 0L
#define TRUE 1
#define FALSE 0

// <complex.h>, <termios.h>, <sys/param.h>, <math.h> with extensions, GNU's predefined names
#undef I
#define I _Complex_I
#define B0 0000000
#define ECHO 0000010
#undef DEV_BSIZE
#define DEV_BSIZE 512
#define howmany(x, y) (((x) + ((y)-1)) / (y))
#undef unix
#define unix 1
#undef linux
#define linux 1
#undef major
#define major(x) (x)
#undef minor
#define minor(x) (x)

// Xlib.h
#define None 0L
#define Always 2
#define Bool int
#define Status int
#define Success 0
#define True 1
#define False 0

// Logging and testing: glog, Catch, googletest, MFC, Android
#define CHECK(...) check failed
#define REQUIRE(...) require failed
#define ASSERT(...) assert failed
#define VERIFY(...) verify failed
#define EXPECT(...) expect failed
#define TEST(...) test failed
#define SECTION(...) section failed
#define INFO(...) info failed
#define LOG(...) log failed
#define DEBUG 1
#define WARNING 2
#define FATAL 3
#define TRACE 4

// Everybody's
#define PAGE_SIZE 4096
#define BLOCK_SIZE 16
#define BATCH_SIZE 1
#define EPS 1e-6
#define PI 3.14
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define UNUSED(x) (void)(x)
#define ALIGN(x) (x)
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define INLINE inline
#define RESTRICT __restrict

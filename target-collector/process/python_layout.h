/* Where CPython 3.11 keeps its frames (64-bit builds): what the BPF program follows, and what the collector reads of
 * code objects. C, for both. Offsets are those of Include/internal/pycore_*.h and of Include/cpython/; they are the
 * same in all releases of 3.11.
 *
 *   _PyRuntime ─▶ the thread that holds the GIL, or the main interpreter's list of threads ─▶ PyThreadState
 *   PyThreadState.cframe ─▶ _PyCFrame, a local variable of the running _PyEval_EvalFrameDefault; each links to that of
 *   the next outer one
 *   _PyCFrame.current_frame ─▶ _PyInterpreterFrame ─▶ previous …, up to the one that entered the C function (is_entry)
 *
 * So a frame of the C stack is an interpreter's if the next _PyCFrame lies in it, whatever function it is of.
 */
#pragma once

#define PYTHON_RUNTIME_MAIN 48     /* _PyRuntimeState.interpreters.main */
#define PYTHON_RUNTIME_CURRENT 576 /* _PyRuntimeState.gilstate.tstate_current */
#define PYTHON_INTERPRETER_THREADS 16
#define PYTHON_THREAD_NEXT 8
#define PYTHON_THREAD_CFRAME 56
#define PYTHON_THREAD_ID 152        /* pthread_self() */
#define PYTHON_THREAD_NATIVE_ID 160 /* gettid() */
#define PYTHON_CFRAME_CURRENT 8     /* current_frame, then previous */
#define PYTHON_FRAME_CODE 32        /* struct python_frame */
#define PYTHON_CODE_FIRST_LINE 72   /* struct python_code */
#define PYTHON_CODE_LINE_TABLE 136
#define PYTHON_CODE_INSTRUCTIONS 184
#define PYTHON_OBJECT_SIZE 16 /* of objects of variable size */
#define PYTHON_BYTES_CONTENT 32
#define PYTHON_TEXT_LENGTH 16
#define PYTHON_TEXT_STATE 32                       /* interned:2 kind:3 compact:1 ascii:1 */
#define PYTHON_TEXT_KIND(state) ((state) >> 2 & 7) /* bytes of a character: 1, 2 or 4 */
#define PYTHON_TEXT_IS_COMPACT(state) ((state) >> 5 & 1)
#define PYTHON_TEXT_IS_ASCII(state) ((state) >> 6 & 1)
#define PYTHON_TEXT_ASCII_CONTENT 48
#define PYTHON_TEXT_CONTENT 72

#define PYTHON_THREADS_MAX 512 /* that are looked through for the one that runs */

/* A Python frame is two words of a sample, behind the C frame that interprets it: PYTHON_WORD and the address of its
 * code object; the index of its instruction (32 bits, -1: none yet) above what is checked when that object is read. */
#define PYTHON_WORD (1ull << 63)
#define PYTHON_WORD_KIND(word) ((word) >> 62) /* 2 of these */

struct python_cframe {
    unsigned long long current_frame;
    unsigned long long previous;
};

struct python_frame {
    unsigned long long code;
    unsigned long long frame_object;
    unsigned long long previous;
    unsigned long long instruction; /* the last one, or the one before the first */
    int stack_top;
    unsigned char is_entry;
    unsigned char owner;
    unsigned short unused;
};

struct python_code {
    int first_line;
    int counts[5];
    unsigned long long local_names;
    unsigned long long local_kinds;
    unsigned long long file_name;
    unsigned long long name;
    unsigned long long qualified_name;
};

/* Another value: another code object stands there by now. */
static inline unsigned int python_check(const struct python_code* code) {
    return (unsigned int)(code->file_name >> 4) * 31u ^ (unsigned int)(code->qualified_name >> 4) ^
           ((unsigned int)code->first_line << 12);
}

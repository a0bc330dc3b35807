/* What the rooms' kernels share: taking buffers, and one loop per width of code. */
#ifndef PRAMANA_BUFFERS_H
#define PRAMANA_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE(x) __builtin_bswap64(x)
#else
#define LITTLE(x) (x)
#endif

typedef struct {
    Py_buffer view;
    int held;
} Buf;

static inline int take(PyObject *object, Buf *buf, Py_ssize_t item, int writable, const char *name) {
    buf->held = 0;
    if (PyObject_GetBuffer(object, &buf->view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0) return -1;
    buf->held = 1;
    if (item && buf->view.len % item) {
        PyErr_Format(PyExc_ValueError, "%s must hold items of %zd bytes", name, item);
        return -1;
    }
    return 0;
}

static inline void drop(Buf *buf) {
    if (buf->held) PyBuffer_Release(&buf->view);
}

#define BY_WIDTH(width, call)                                   \
    switch (width) {                                            \
        case 1: { typedef uint8_t T; call(uint8_t); break; }    \
        case 2: { typedef uint16_t T; call(uint16_t); break; }  \
        case 4: { typedef uint32_t T; call(uint32_t); break; }  \
    }

static inline int same_length(Py_ssize_t n, Py_ssize_t m, const char *what) {
    if (n == m) return 0;
    PyErr_Format(PyExc_ValueError, "%s must have %zd entries, got %zd", what, n, m);
    return -1;
}

static inline int code_width(const Buf *in, const Buf *out) {
    if (in->view.itemsize != out->view.itemsize ||
        (in->view.itemsize != 1 && in->view.itemsize != 2 && in->view.itemsize != 4)) {
        PyErr_SetString(PyExc_ValueError, "codes must be unsigned integers of 1, 2 or 4 bytes, in and out alike");
        return 0;
    }
    return (int)in->view.itemsize;
}

#endif

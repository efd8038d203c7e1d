/* The part of CPython's stable ABI that the engine uses. It is declared here because Python's
 * headers are a separate package, which many machines don't have. The symbols are resolved in the
 * process that loads the engine, as an extension module's are. */
#ifndef VN_PYTHON_H
#define VN_PYTHON_H

#include <stddef.h>

typedef struct _object PyObject;

extern PyObject _Py_NoneStruct;
extern PyObject _Py_TrueStruct, _Py_FalseStruct;
extern struct _typeobject PyTuple_Type;
extern PyObject *PyExc_Exception, *PyExc_OverflowError, *PyExc_TypeError, *PyExc_ValueError;

void Py_IncRef(PyObject *), Py_DecRef(PyObject *); /* NULL: no effect */

PyObject *PyFloat_FromDouble(double);
PyObject *PyLong_FromUnsignedLongLong(unsigned long long);
PyObject *PyUnicode_InternFromString(const char *);
int PyObject_IsInstance(PyObject *, PyObject *);
double PyFloat_AsDouble(PyObject *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *);
PyObject *PyErr_Occurred(void);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **),
    PyErr_Restore(PyObject *, PyObject *, PyObject *),
    PyErr_NormalizeException(PyObject **, PyObject **, PyObject **); /* type, value, traceback */
int PyErr_ExceptionMatches(PyObject *);
int PyException_SetTraceback(PyObject *, PyObject *);
void PyErr_SetString(PyObject *, const char *);

PyObject *PySequence_GetItem(PyObject *, ptrdiff_t);
/* borrowed reference */
PyObject *PyList_GetItem(PyObject *, ptrdiff_t), *PyTuple_GetItem(PyObject *, ptrdiff_t);
PyObject *PyType_GenericAlloc(PyObject *, ptrdiff_t);
int PyTuple_SetItem(PyObject *, ptrdiff_t, PyObject *); /* steals the reference */

PyObject *PyObject_GetAttr(PyObject *, PyObject *);
int PyObject_SetAttr(PyObject *, PyObject *, PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);         /* arguments, then NULL */
PyObject *PyObject_CallMethodObjArgs(PyObject *, PyObject *, ...);

#endif

/* What the engine uses of Python: functions of its stable ABI, the same in every version. They are declared here because
 * Python's own headers are a package of their own, which many machines don't have; they are found in the process that
 * loads the engine, as an extension module's are. */
#ifndef VN_PYTHON_H
#define VN_PYTHON_H

#include <stddef.h>

typedef struct _object PyObject;

extern PyObject _Py_NoneStruct;
extern PyObject *PyExc_OverflowError, *PyExc_TypeError, *PyExc_ValueError;

void Py_IncRef(PyObject *), Py_DecRef(PyObject *); /* NULL: nothing */

PyObject *PyFloat_FromDouble(double);
PyObject *PyLong_FromUnsignedLongLong(unsigned long long);
PyObject *PyUnicode_InternFromString(const char *);
int PyObject_IsInstance(PyObject *, PyObject *);
double PyFloat_AsDouble(PyObject *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *);
PyObject *PyErr_Occurred(void);
void PyErr_SetString(PyObject *, const char *);

PyObject *PyList_GetItem(PyObject *, ptrdiff_t), *PyTuple_GetItem(PyObject *, ptrdiff_t); /* borrowed */
PyObject *PyType_GenericAlloc(PyObject *, ptrdiff_t);
int PyTuple_SetItem(PyObject *, ptrdiff_t, PyObject *); /* takes the value over */

PyObject *PyObject_GetAttr(PyObject *, PyObject *);
int PyObject_SetAttr(PyObject *, PyObject *, PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);         /* arguments, then NULL */
PyObject *PyObject_CallMethodObjArgs(PyObject *, PyObject *, ...);

#endif

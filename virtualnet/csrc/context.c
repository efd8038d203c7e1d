/* How a run ends, or a call is refused. */
#include "context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vn_fail(struct vn_context *context, const char *format, ...)
{
    if (context->failed) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context->error, sizeof context->error, format, arguments);
    va_end(arguments);
    context->failed = true;
}

void vn_context_share(struct vn_context *to, const struct vn_context *first)
{
    memcpy(to, first, offsetof(struct vn_context, now));
}

int vn_refuse(struct vn_context *context, int code, const char *why)
{
    if (!context->failed) snprintf(context->error, sizeof context->error, "%s", why);
    return code;
}

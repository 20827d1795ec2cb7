/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.method.annotation.MethodArgumentTypeMismatchException;

/** Answers a request whose path or parameter is not an id: status 400, with the reason. */
@ControllerAdvice
@ResponseBody
final class NotAnIdAdvice {

    /**
     * Answers the request; Spring finds this method by the cause, and leaves all other parameters to other advice.
     *
     * @param e what was thrown; passed on if the application itself converted something
     */
    @ExceptionHandler(IdConverters.NotAnIdException.class)
    ProblemDetail notAnId(Exception e) throws Exception {
        if (!(e instanceof MethodArgumentTypeMismatchException mismatch)) {
            throw e;
        }
        return ProblemDetail.forStatusAndDetail(
                HttpStatus.BAD_REQUEST,
                "%s: %s"
                        .formatted(
                                mismatch.getName(),
                                mismatch.getMostSpecificCause().getMessage()));
    }
}

/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A lookup that the installation of a {@link ShardflakeTest} has, as {@code shardflake lookup create --no-source} makes it. */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({})
public @interface TestLookup {

    /** The name, such as account.email. */
    String value();

    /** Whether only one row can hold a value. */
    boolean unique() default true;

    /** Whether the letters A to Z are taken for a to z. */
    boolean ignoreCase() default false;

    /** Whether only the SHA-256 of a value is kept. */
    boolean hashed() default false;
}

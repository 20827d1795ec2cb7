/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A lookup in the installation of a {@link ShardflakeTest}, created as by {@code shardflake lookup create --no-source}. */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({})
public @interface TestLookup {

    /** The name, such as account.email. */
    String value();

    /** Whether only one row can hold a value. */
    boolean unique() default true;

    /** Whether the letters A to Z count as a to z. */
    boolean ignoreCase() default false;

    /** Whether only the SHA-256 of a value is stored. */
    boolean hashed() default false;
}

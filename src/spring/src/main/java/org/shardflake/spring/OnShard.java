/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The shard that a method works on, by a key among its parameters.
 *
 * <pre>{@code
 * @OnShard("#uid")
 * @Transactional
 * public long add(long uid, String title) {
 *     return jdbc.sql("INSERT INTO photo (uid, title) VALUES (?, ?) RETURNING id") ...
 * }
 * }</pre>
 *
 * <p>During the method the application's {@code DataSource} connects to the server that has the shard, and tables
 * without a schema are the shard's. The transactions in it are of that one shard. If the shard moves meanwhile, or a
 * connection is lost before the commit, the transaction is rolled back and the whole method run again on the right
 * server, as the router's retry policy says. So the method must have no effects outside the transaction that a second
 * run would repeat. Before that run, entities that the caller made and JPA saved are new again; what the method itself changed in its
 * arguments stays changed. It is not run again once a transaction in it was committed, or a statement was executed outside a
 * transaction.
 *
 * <p>Inside a transaction of the same shard the method is part of it, and is not run again by itself; inside a
 * transaction of another shard it is refused with {@link org.shardflake.router.exception.CrossShardException}.
 *
 * <p>On a type it is the default for all its public methods.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface OnShard {

    /**
     * The uid, as an expression in Spring's language over the method's parameters: {@code "#uid"}, {@code "#photo.uid"}.
     *
     * <p>A whole number is a uid, a {@code String} or {@code UUID} one that is hashed, a {@code ShardflakeId} an id, and
     * a {@code ShardKey} itself.
     */
    String value() default "";

    /** An id created in the shard, instead of a uid: {@code "#photoId"}. A whole number, its text, or a {@code ShardflakeId}. */
    String id() default "";

    /**
     * Whether the method may be run again. If not, a statement or commit that a moving shard refuses throws a
     * {@code TransientDataAccessException} with SQLSTATE {@code SF001}.
     */
    boolean retry() default true;
}

/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.reflect.UndeclaredThrowableException;
import java.util.Objects;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardRouter;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.expression.BeanResolver;

/** Runs a method on the shard of its {@link OnShard}, and again if necessary. Thread-safe. */
final class OnShardInterceptor implements MethodInterceptor {

    private final Supplier<ShardRouter> router;
    private final OnShardKeys keys;

    OnShardInterceptor(Supplier<ShardRouter> router, BeanResolver beans) {
        this.router = router;
        this.keys = new OnShardKeys(beans);
    }

    @Override
    @SuppressWarnings("NullAway") // It does not see that the work may return null.
    public @Nullable Object invoke(MethodInvocation invocation) throws Exception {
        Object target = Objects.requireNonNull(invocation.getThis());
        OnShard annotation = Objects.requireNonNull(OnShardKeys.find(invocation.getMethod(), target.getClass()));
        ShardKey key = keys.key(annotation, invocation.getMethod(), target, invocation.getArguments());
        return router.get()
                .<@Nullable Object, Exception>attempt(key, annotation.retry(), attempt -> proceed(invocation));
    }

    /** Runs a copy of the invocation for each attempt, since an invocation can proceed only once. */
    private static @Nullable Object proceed(MethodInvocation invocation) throws Exception {
        try {
            return ((ProxyMethodInvocation) invocation).invocableClone().proceed();
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new UndeclaredThrowableException(e);
        }
    }
}

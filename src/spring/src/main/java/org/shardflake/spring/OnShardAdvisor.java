/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.aopalliance.aop.Advice;
import org.shardflake.router.ShardRouter;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;

/** Puts {@link OnShard} around methods, outside of {@code @Transactional}: each try is a transaction of its own. */
final class OnShardAdvisor extends AbstractPointcutAdvisor {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient Pointcut pointcut = new Annotated();
    private final transient Advice advice;

    OnShardAdvisor(Supplier<ShardRouter> router) {
        this.advice = new OnShardInterceptor(router);
        // That of @Transactional is LOWEST_PRECEDENCE.
        setOrder(Ordered.LOWEST_PRECEDENCE - 1000);
    }

    @Override
    public Pointcut getPointcut() {
        return pointcut;
    }

    @Override
    public Advice getAdvice() {
        return advice;
    }

    private static final class Annotated extends StaticMethodMatcherPointcut {

        Annotated() {
            setClassFilter(type -> AnnotationUtils.isCandidateClass(type, OnShard.class));
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return OnShardKeys.find(method, targetClass) != null;
        }
    }
}

/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Supplier;
import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.ShardRouter;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;

/** Applies {@link OnShard} around methods, outside of {@code @Transactional}: each attempt is a separate transaction. */
final class OnShardAdvisor extends AbstractPointcutAdvisor {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient Pointcut pointcut;
    private final transient Advice advice;

    /** @param dataSource refuses an application whose default {@code DataSource} is not that of the shards */
    OnShardAdvisor(Supplier<ShardRouter> router, BeanFactory beans, Runnable dataSource) {
        this.advice = new OnShardInterceptor(router, new BeanFactoryResolver(beans));
        this.pointcut = new Annotated(new OnShardCheck(beans::containsBean, dataSource));
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

        private final Map<Class<?>, Boolean> known = new ConcurrentReferenceHashMap<>();
        private final Map<Class<?>, Boolean> checked = new ConcurrentReferenceHashMap<>();
        private final OnShardCheck check;

        Annotated(OnShardCheck check) {
            this.check = check;
            setClassFilter(this::mayMatch);
        }

        /**
         * Whether a type, one of its methods, or anything they inherit from has the annotation. Spring asks for each of thousands of methods
         * when an application starts, of which few have any annotation; this looks at each once, and quickly.
         */
        private boolean mayMatch(@Nullable Class<?> type) {
            if (type == null || !AnnotationUtils.isCandidateClass(type, OnShard.class)) {
                return false;
            }
            Boolean found = known.get(type);
            if (found == null) {
                found = isAnnotated(type)
                        || Arrays.stream(ReflectionUtils.getDeclaredMethods(type))
                                .anyMatch(Annotated::isAnnotated)
                        || mayMatch(type.getSuperclass())
                        || Arrays.stream(type.getInterfaces()).anyMatch(this::mayMatch);
                known.put(type, found);
            }
            return found;
        }

        private static boolean isAnnotated(AnnotatedElement element) {
            return element.getDeclaredAnnotations().length > 0
                    && AnnotatedElementUtils.isAnnotated(element, OnShard.class);
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            boolean matches = OnShardKeys.find(method, targetClass) != null;
            if (matches && checked.putIfAbsent(targetClass, true) == null) {
                check.check(targetClass);
            }
            return matches;
        }
    }
}
